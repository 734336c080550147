import type { ComponentChildren } from 'preact';
import { home } from '../next.ts';
import { texts } from '../texts.ts';
import { Details } from './details.tsx';
import { Heading } from './heading.tsx';
import { Icon } from './icon.tsx';
import { cautionIcon } from './icons.ts';

interface OutcomeProps {
  /** `waiting` turns its icon, unless the person wants less motion. */
  readonly tone: 'success' | 'danger' | 'caution' | 'waiting' | 'sent' | 'neutral';
  readonly icon: string;
  readonly heading: string;
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

/** How something ended, or that it has not yet: a large sign above a heading. */
export const Outcome = ({ tone, icon, heading, takesFocus = false, children }: OutcomeProps) => (
  <div key={heading} class="outcome">
    <span key={tone} class={`sign ${tone}`}>
      <Icon path={icon} />
    </span>
    <Heading takesFocus={takesFocus}>{heading}</Heading>
    {children}
  </div>
);

/** What the service says about a request, in the words of the protocol. */
export const Reason = ({ message }: { message: string }) => (
  <Details summary={texts.common.forDevelopers}>
    <p>
      <code id="reason" translate={false}>
        {message}
      </code>
    </p>
  </Details>
);

interface UnanswerableProps {
  readonly text: string;
  readonly message: string;
}

/** A request that leads nowhere, with what the service says about it. */
export const Unanswerable = ({ text, message }: UnanswerableProps) => (
  <Outcome tone="caution" icon={cautionIcon} heading={texts.common.unanswerable}>
    <p>{text}</p>
    <Reason message={message} />
    <HomeLink />
  </Outcome>
);

/** A way out of an outcome that leads nowhere else. */
export const HomeLink = () => (
  <p>
    <a href={home}>{texts.common.toAccount}</a>
  </p>
);
