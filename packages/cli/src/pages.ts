import type { Context } from './context.ts';
import { listing } from './text.ts';

const pageSize = 100;
const maxPages = 10;

/**
 * All pages of a list as one, up to a thousand entries. A cursor that is not null marks where the rest begins.
 * @param name the member of a page with the entries
 */
export async function allPages<Name extends string, Entry>(
  name: Name,
  fetchPage: (query: {
    readonly limit: string;
    readonly cursor?: string;
  }) => Promise<{ next_cursor: string | null } & { [List in Name]: readonly Entry[] }>,
): Promise<{ entries: Entry[]; next_cursor: string | null }> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const next = await fetchPage({ limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
    entries.push(...next[name]);
    cursor = next.next_cursor;
    if (cursor === null) break;
  }
  return { entries, next_cursor: cursor };
}

interface List {
  /** The same for programs. It has a `next_cursor` if the list was cut off. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What is said instead of an empty list. */
  readonly none?: string;
  readonly above?: readonly string[];
}

/** Prints a list as a table. */
export const printList = ({ output }: Context, { json, heading, rows, none, above = [] }: List): void =>
  output.result(json, (columns) =>
    rows.length === 0 && none !== undefined
      ? [none]
      : [
          ...above,
          ...listing(heading, rows, columns),
          ...(json['next_cursor'] ? ['There are more; only the first thousand are shown.'] : []),
        ],
  );
