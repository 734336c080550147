import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Problem } from '../api.ts';
import { explain } from '../error-messages.ts';
import { busyState } from '../ui/busy.ts';
import { Placeholder } from '../ui/loading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';

/** A list of the account that is fetched by itself: where it fails, the rest of the page still works. */
export interface SectionData {
  readonly id: string;
  readonly at: ReadonlySignal<'loading' | 'failed' | 'shown'>;
  readonly error: ReadonlySignal<string>;
  readonly isBusy: ReadonlySignal<boolean>;
  load(): Promise<void>;
}

/**
 * @param id begins the ids of its elements
 * @param name begins the sentence that says it could not be loaded
 * @param ask puts what it gets where it is shown from; what goes wrong comes back
 */
export function sectionData(id: string, name: string, ask: () => Promise<Problem | undefined>): SectionData {
  const at = signal<'loading' | 'failed' | 'shown'>('loading');
  const error = signal('');
  const busy = busyState();
  const load = () =>
    busy.run(async () => {
      error.value = '';
      const problem = await ask();
      if (problem !== undefined) {
        error.value = `${name} could not be loaded. ${explain(problem, words)}`;
        at.value = 'failed';
        return undefined;
      }
      const wasFailed = at.value === 'failed';
      at.value = 'shown';
      // The button that was pressed is gone.
      if (wasFailed) focusHeading(id);
      return undefined;
    });
  return { id, at, error, isBusy: busy.now, load };
}

const words = { unreachable: 'Latchkey could not be reached. Check your connection and try again.' };

/** Puts whoever uses a keyboard or a screen reader at the beginning of a part. */
export const focusHeading = (id: string): void => document.getElementById(`${id}-heading`)?.focus();

interface SectionProps {
  readonly of: SectionData;
  readonly title: string;
  readonly children: ComponentChildren;
}

/** A part under its heading. */
export const Section = ({ of: { id, at }, title, children }: SectionProps) => (
  <section aria-labelledby={`${id}-heading`} aria-busy={at.value === 'loading'}>
    <h2 id={`${id}-heading`} tabIndex={-1}>
      {title}
    </h2>
    {children}
  </section>
);

interface SectionContentProps {
  readonly of: SectionData;
  /** How many its placeholder stands for. */
  readonly entries: number;
  readonly children: ComponentChildren;
}

/** What is fetched of a part: a placeholder until it is there, or what went wrong and another try. */
export function SectionContent({
  of: { id, at, error, isBusy, load },
  entries,
  children,
}: SectionContentProps) {
  return (
    <>
      <ErrorMessage id={`${id}-failure`} text={error.value} />
      {at.value === 'loading' ? <Placeholder entries={entries} /> : null}
      {at.value === 'failed' ? (
        <p class="retry">
          <button
            type="button"
            disabled={isBusy.value}
            aria-describedby={`${id}-heading`}
            onClick={() => void load()}
          >
            {isBusy.value ? 'One moment…' : 'Try again'}
          </button>
        </p>
      ) : null}
      {at.value === 'shown' ? children : null}
    </>
  );
}
