import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Problem, Result } from '../api.ts';
import { explain } from '../error-messages.ts';
import { fill, sentences, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Placeholder } from '../ui/loading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { Done, detectSignOut, showDone } from './actions.tsx';

/** A section of the account page that loads on its own, so that one failure leaves the rest usable. */
export interface SectionData {
  readonly id: string;
  readonly state: ReadonlySignal<'loading' | 'failed' | 'loaded'>;
  readonly error: ReadonlySignal<string>;
  readonly isBusy: ReadonlySignal<boolean>;
  load(): Promise<void>;
}

/**
 * @param id prefix of the ids of the section's elements
 * @param name subject of the message that loading failed
 * @param fetchData stores what it fetches where the section renders it from, and returns any problem
 */
export function sectionData(
  id: string,
  name: string,
  fetchData: () => Promise<Problem | undefined>,
): SectionData {
  const state = signal<'loading' | 'failed' | 'loaded'>('loading');
  const busy = busyState();
  const load = () =>
    busy.run(async () => {
      const problem = await fetchData();
      if (problem !== undefined) {
        state.value = 'failed';
        return sentences(fill(texts.account.failed, { section: name }), explain(problem));
      }
      const wasFailed = state.value === 'failed';
      state.value = 'loaded';
      // The "Try again" button that had the focus is gone.
      if (wasFailed) focusHeading(id);
      return undefined;
    });
  return { id, state, error: busy.error, isBusy: busy.now, load };
}

/** A section with a list that is loaded page by page. Its id is the member of a page with the entries. */
export function pagedData<Id extends string, T>(
  id: Id,
  name: string,
  fetchPage: (
    cursor?: string,
  ) => Promise<Result<{ next_cursor: string | null } & { [List in Id]: readonly T[] }>>,
) {
  const entries = signal<readonly T[]>([]);
  const cursor = signal<string | null>(null);
  const more = busyState();
  async function read(from?: string): Promise<Problem | undefined> {
    const page = detectSignOut(await fetchPage(from));
    if (!page.ok) return page.problem;
    entries.value = from === undefined ? page.value[id] : [...entries.value, ...page.value[id]];
    cursor.value = page.value.next_cursor;
    return undefined;
  }
  const showMore = (from: string) =>
    more.run(async () => {
      const problem = await read(from);
      return problem && explain(problem);
    });
  return { ...sectionData(id, name, () => read()), entries, cursor, more, showMore };
}

/** Loads the next page of a list, while there is one. */
export const ShowMore = ({ data }: { data: ReturnType<typeof pagedData> }) => {
  const { id, cursor, more, showMore } = data;
  const next = cursor.value;
  return (
    <>
      <ErrorMessage id={`${id}-error`} text={more.error.value} />
      {next === null ? null : (
        <button
          type="button"
          id={`more-${id}`}
          class="show-more"
          disabled={more.now.value}
          onClick={() => void showMore(next)}
        >
          {texts.common.showMore}
        </button>
      )}
    </>
  );
};

/** Moves keyboard and screen reader users to the start of a section. */
export const focusHeading = (id: string): void => document.getElementById(`${id}-heading`)?.focus();

/** Says what was done in a section, and continues at its start, since the button that did it is gone. */
export function finish(section: string, done: string): undefined {
  showDone(section, done);
  focusHeading(section);
}

interface SectionProps {
  readonly data: SectionData;
  readonly title: string;
  /** A part of another section has a heading of the next level. */
  readonly isPart?: boolean;
  /** A button about the whole list, shown once it is loaded. */
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A titled section, or a part of one. */
export function Section({ data: { id, state }, title, isPart = false, action, children }: SectionProps) {
  const heading = { id: `${id}-heading`, tabIndex: -1, children: title };
  return (
    <section
      class={isPart ? 'part' : 'card'}
      aria-labelledby={`${id}-heading`}
      aria-busy={state.value === 'loading'}
    >
      <div class="section-head">
        {isPart ? <h3 {...heading} /> : <h2 {...heading} />}
        {state.value === 'loaded' ? (action ?? null) : null}
      </div>
      <Done section={id} />
      {children}
    </section>
  );
}

interface SectionContentProps {
  readonly data: SectionData;
  /** How many entries the placeholder reserves room for. */
  readonly entries: number;
  readonly children: ComponentChildren;
}

/** The loaded content of a section; before that a placeholder, or the error with a button to try again. */
export function SectionContent({
  data: { id, state, error, isBusy, load },
  entries,
  children,
}: SectionContentProps) {
  return (
    <>
      <ErrorMessage id={`${id}-failure`} text={error.value} />
      {state.value === 'loading' ? <Placeholder entries={entries} /> : null}
      {state.value === 'failed' ? (
        <p class="retry">
          <button
            type="button"
            disabled={isBusy.value}
            aria-describedby={`${id}-heading`}
            onClick={() => void load()}
          >
            {isBusy.value ? texts.common.busy : texts.common.tryAgain}
          </button>
        </p>
      ) : null}
      {state.value === 'loaded' ? children : null}
    </>
  );
}
