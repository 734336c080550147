/** How many entries a request asks for; ten of them are a thousand. */
const pageSize = 100;
const maxPages = 10;

/** Fetches a page, whose member `Name` has the entries. */
export type FetchPage<Name extends string, Entry> = (query: {
  readonly limit: string;
  readonly cursor?: string;
}) => Promise<{ next_cursor: string | null } & { [List in Name]: readonly Entry[] }>;

/** The pages of a list, each fetched when it is asked for. */
export async function* pagesOf<Name extends string, Entry>(fetchPage: FetchPage<Name, Entry>) {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await fetchPage({ limit: String(pageSize), ...(cursor === '' ? {} : { cursor }) });
    yield page;
    cursor = page.next_cursor;
  }
}

/**
 * All pages of a list as one, up to a thousand entries. A cursor that is not null marks where the rest begins.
 * @param name the member of a page with the entries
 * @param isLast whether a page that ends with this entry is the last one of interest
 */
export async function allPages<Name extends string, Entry>(
  name: Name,
  fetchPage: FetchPage<Name, Entry>,
  isLast: (entry: Entry) => boolean = () => false,
): Promise<{ entries: Entry[]; next_cursor: string | null }> {
  const entries: Entry[] = [];
  let next_cursor: string | null = null;
  let count = 0;
  for await (const page of pagesOf(fetchPage)) {
    entries.push(...page[name]);
    next_cursor = page.next_cursor;
    count++;
    const end = entries.at(-1);
    if (count === maxPages || end === undefined || isLast(end)) break;
  }
  return { entries, next_cursor };
}
