import { untrustedText } from '@latchkey/contract/untrusted-text';
import type { ComponentChildren } from 'preact';
import { dateOnly, dateTime, timeAgo } from '../format.ts';
import { texts } from '../texts.ts';
import { Icon } from './elements.tsx';
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

export const Fact = ({ label, id, children }: FactProps) => (
  <>
    <dt>{label}</dt>
    <dd id={id}>{children}</dd>
  </>
);

/** An RFC 3339 timestamp; the whole date and time on hover. Isolated, because its language may be written right to left. */
const written =
  (write: (time: Date) => string) =>
  ({ at }: { at: string }) => (
    <time dir="auto" dateTime={at} title={dateTime(new Date(at))}>
      {write(new Date(at))}
    </time>
  );

export const Timestamp = written(dateTime);
export const DateOnly = written(dateOnly);

/** How long ago it was or how soon it will be. */
export const RelativeTime = written((time) => timeAgo(time, new Date()));

/** Text of a program or another person: quoted and isolated, so that it can't pass for the page's words. */
export function Untrusted({ text }: { text: string | null }) {
  if (text === null || text.trim() === '') return <span class="missing">{texts.common.unknown}</span>;
  return (
    <q class="untrusted">
      <bdi>{untrustedText(text)}</bdi>
    </q>
  );
}

/** Explains the quotes; shown below a list with `Untrusted` text. */
export const UntrustedHint = () => <p class="hint">{texts.common.quotesExplained}</p>;

export const Address = ({ children, id }: { children: string; id?: string }) => (
  <strong>
    <bdi id={id}>{children}</bdi>
  </strong>
);
