import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';
import { detailsIcon } from './icons.ts';

/** What most people need not read, behind its summary. */
export const Details = ({ summary, children }: Record<'summary' | 'children', ComponentChildren>) => (
  <details class="quiet">
    <summary>
      <span class="chevron">
        <Icon path={detailsIcon} />
      </span>
      {summary}
    </summary>
    {children}
  </details>
);

interface FactProps {
  readonly label: string;
  readonly id?: string;
  readonly children: ComponentChildren;
}

/** An entry of a `dl`. */
export const Fact = ({ label, id, children }: FactProps) => (
  <>
    <dt>{label}</dt>
    <dd id={id}>{children}</dd>
  </>
);
