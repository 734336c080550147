/**
 * The first duplicate member name in an object of a JSON text, which parses to `value`: in valid JSON a string followed by a
 * colon is always a member name.
 */
export function duplicateMember(text: string, value: unknown): string | undefined {
  if (isFlatWithoutDuplicate(text, value)) return undefined;
  const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;
  const open: Set<string>[] = [];
  for (const [match, colon] of text.matchAll(tokens)) {
    if (match === '{') open.push(new Set());
    else if (match === '}') open.pop();
    else if (colon) {
      const name = JSON.parse(match.slice(0, -colon.length)) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

/** Most objects are flat, and then it is enough to count: a duplicate, or a member further down, is one name more than the object has. */
const isFlatWithoutDuplicate = (text: string, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  text.match(/"\s*:/g)?.length === Object.keys(value).length;
