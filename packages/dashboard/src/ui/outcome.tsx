import type { ComponentChildren } from 'preact';
import { Heading } from './heading.tsx';
import { Icon } from './icon.tsx';

interface OutcomeProps {
  /** `waiting` turns its icon, unless the person wants less motion. */
  readonly tone: 'success' | 'danger' | 'caution' | 'waiting' | 'neutral';
  readonly icon: string;
  readonly heading: string;
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

/** How something ended, or that it has not yet: a large sign above a heading. Give each outcome its own `key`. */
export const Outcome = ({ tone, icon, heading, takesFocus = false, children }: OutcomeProps) => (
  <div class="outcome">
    <span key={tone} class={`sign ${tone}`}>
      <Icon path={icon} />
    </span>
    <Heading key={heading} takesFocus={takesFocus}>
      {heading}
    </Heading>
    {children}
  </div>
);
