/** What the search finds, as the service lists it: endpoints first, then topics, then fields. */
export interface SearchEntry {
  readonly title: string;
  /** Where it belongs: the group of an endpoint, the page of a topic, the endpoint of a field. */
  readonly within: string;
  /** What else it is found by. */
  readonly text: string;
  readonly url: string;
}

const maxResults = 20;

/** The entries that contain every word of a query, best first. */
export function search(entries: readonly SearchEntry[], query: string): readonly SearchEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .filter(({ rank }) => rank < notFound)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, maxResults)
    .map(({ entry }) => entry);
}

const notFound = 100;

/** Lower is better: the whole title, its beginning, somewhere in it, somewhere else. */
function rankOf({ title, within, text }: SearchEntry, words: readonly string[]): number {
  const name = title.toLowerCase();
  const all = `${name} ${within} ${text}`.toLowerCase();
  if (!words.every((word) => all.includes(word))) return notFound;
  const query = words.join(' ');
  if (name === query) return 0;
  if (name.startsWith(query)) return 1;
  return words.every((word) => name.includes(word)) ? 2 : 3;
}
