import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Problem, Result } from '../api.ts';
import { explain } from '../error-messages.ts';
import { fill, sentences, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button, ErrorMessage } from '../ui/elements.tsx';
import { Placeholder } from '../ui/page.tsx';
import { stopAsking } from '../ui/question.tsx';
import { Done, detectSignOut, showDone, upToDate } from './actions.tsx';

/**
 * A section of the account page that loads on its own, so that one failure leaves the rest usable.
 * @param id prefix of the ids of the section's elements
 * @param fetchData stores what it fetches where the section renders it from, and returns any problem
 */
export function sectionData(id: string, title: string, fetchData: () => Promise<Problem | undefined>) {
  const state = signal<'loading' | 'failed' | 'loaded'>('loading');
  const busy = busyState();
  const load = () =>
    busy.run(async () => {
      const problem = await fetchData();
      if (problem !== undefined) {
        state.value = 'failed';
        return sentences(fill(texts.account.failed, { section: title }), explain(problem));
      }
      const wasFailed = state.value === 'failed';
      state.value = 'loaded';
      // The "Try again" button that had the focus is gone.
      if (wasFailed) focusHeading(id);
      return undefined;
    });
  return { id, title, state, busy, load };
}

/** A section with a list that is loaded page by page. Its id is the member of a page with the entries. */
export function pagedData<Id extends string, T>(
  id: Id,
  title: string,
  fetchPage: (
    cursor?: string,
  ) => Promise<Result<{ next_cursor: string | null } & { [List in Id]: readonly T[] }>>,
) {
  const entries = signal<readonly T[]>([]);
  const cursor = signal<string | null>(null);
  const more = busyState();
  async function read(from?: string): Promise<Problem | undefined> {
    const page = await detectSignOut(upToDate(() => fetchPage(from)));
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
  return { ...sectionData(id, title, () => read()), entries, cursor, more, showMore };
}

export const ShowMore = ({ data }: { data: ReturnType<typeof pagedData> }) => {
  const { id, cursor, more, showMore } = data;
  const next = cursor.value;
  return (
    <>
      <ErrorMessage id={`${id}-error`} text={more.error.value} />
      {next === null ? null : (
        <Button id={`more-${id}`} class="show-more" busy={more} onClick={() => showMore(next)}>
          {texts.common.showMore}
        </Button>
      )}
    </>
  );
};

/** Moves keyboard and screen reader users to the start of a section. */
export const focusHeading = (id: string): void => document.getElementById(`${id}-heading`)?.focus();

/** Says what was done in a section, and continues at its start, since the button that did it is gone. */
export function finish(section: string, done: string): undefined {
  stopAsking();
  showDone(section, done);
  focusHeading(section);
}

interface CardProps {
  readonly id: string;
  readonly title: string;
  /** A part of another card has a heading of the next level. */
  readonly isPart?: boolean;
  readonly isLoading?: boolean;
  /** A button about all that it shows. */
  readonly action?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Card({ id, title, isPart = false, isLoading, action, children, ...props }: CardProps) {
  const heading = { id: `${id}-heading`, tabIndex: -1, children: title };
  return (
    <section class={isPart ? 'part' : 'card'} aria-labelledby={heading.id} aria-busy={isLoading} {...props}>
      <div class="section-head">
        {isPart ? <h3 {...heading} /> : <h2 {...heading} />}
        {action}
      </div>
      {children}
    </section>
  );
}

interface SectionProps extends Pick<CardProps, 'isPart' | 'action' | 'children'> {
  readonly data: ReturnType<typeof sectionData>;
  /** Shown above the content, loaded or not. */
  readonly above?: ComponentChildren;
  /** How many entries the placeholder reserves room for. */
  readonly entries: number;
}

/** A card with its loaded content; before that a placeholder, or the error with a button to try again. */
export function Section({ data, above, entries, action, children, ...props }: SectionProps) {
  const { id, title, busy, load } = data;
  const state = data.state.value;
  return (
    <Card
      id={id}
      title={title}
      isLoading={state === 'loading'}
      action={state === 'loaded' ? action : null}
      {...props}
    >
      <Done section={id} />
      {above}
      <ErrorMessage id={`${id}-failure`} text={busy.error.value} />
      {state === 'loading' ? <Placeholder entries={entries} /> : null}
      {state === 'failed' ? (
        <p>
          <Button busy={busy} aria-describedby={`${id}-heading`} onClick={load}>
            {busy.label(texts.common.tryAgain)}
          </Button>
        </p>
      ) : null}
      {state === 'loaded' ? children : null}
    </Card>
  );
}
