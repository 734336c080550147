interface PageQuery {
  readonly limit: string;
  readonly cursor?: string;
}

const pageSize = 100;
const maxPages = 10;

/**
 * All pages of a list as one: at most a thousand entries, and the cursor of what is left out.
 * @param ask fetches one page
 */
export async function allPages<Entry>(
  ask: (query: PageQuery) => Promise<{ entries: readonly Entry[]; next_cursor: string | null }>,
): Promise<{ entries: Entry[]; next_cursor: string | null }> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const answer = await ask({ limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
    entries.push(...answer.entries);
    cursor = answer.next_cursor;
    if (cursor === null) break;
  }
  return { entries, next_cursor: cursor };
}

/** Said below a list that goes on. */
export const moreLines = (next_cursor: string | null): string[] =>
  next_cursor === null ? [] : ['There are more; only the first thousand are shown.'];
