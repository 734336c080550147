interface PageQuery {
  readonly limit: string;
  readonly cursor?: string;
}

const pageSize = 100;
const maxPages = 10;

/**
 * All pages of a list as one, up to a thousand entries. A cursor that is not null marks where the rest begins.
 * @param fetchPage fetches one page
 */
export async function allPages<Entry>(
  fetchPage: (query: PageQuery) => Promise<{ entries: readonly Entry[]; next_cursor: string | null }>,
): Promise<{ entries: Entry[]; next_cursor: string | null }> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const next = await fetchPage({ limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
    entries.push(...next.entries);
    cursor = next.next_cursor;
    if (cursor === null) break;
  }
  return { entries, next_cursor: cursor };
}

/** Printed below a list that was cut off. */
export const moreLines = (next_cursor: string | null): string[] =>
  next_cursor === null ? [] : ['There are more; only the first thousand are shown.'];
