/** How many entries a request asks for; ten of them are a thousand. */
const pageSize = 100;
const maxPages = 10;

/**
 * All pages of a list as one, up to a thousand entries. A cursor that is not null marks where the rest begins.
 * @param name the member of a page with the entries
 * @param isLast whether a page that ends with this entry is the last one of interest
 */
export async function allPages<Name extends string, Entry>(
  name: Name,
  fetchPage: (query: {
    readonly limit: string;
    readonly cursor?: string;
  }) => Promise<{ next_cursor: string | null } & { [List in Name]: readonly Entry[] }>,
  isLast: (entry: Entry) => boolean = () => false,
): Promise<{ entries: Entry[]; next_cursor: string | null }> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const next = await fetchPage({ limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
    entries.push(...next[name]);
    cursor = next.next_cursor;
    const end = entries.at(-1);
    if (cursor === null || end === undefined || isLast(end)) break;
  }
  return { entries, next_cursor: cursor };
}
