/**
 * The first duplicate member name in an object of a JSON text. The text must be valid JSON, where a string followed by
 * a colon is always a member name.
 */
export function duplicateMember(text: string): string | undefined {
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
