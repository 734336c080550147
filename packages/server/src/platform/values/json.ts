/** `value` is the parsed text: in valid JSON, a string before a colon is always a member name. */
export function duplicateMember(text: string, value: unknown): string | undefined {
  // Equal counts prove that there is none. Otherwise search for it: a string may contain `":`, too.
  if (text.match(/"\s*:/g)?.length === countMembers(value)) return undefined;
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

/** Counts the members of all objects in a value. Not by recursion: it may be as deep as it is long. */
function countMembers(value: unknown): number {
  let count = 0;
  const values = [value];
  for (const one of values) {
    if (typeof one !== 'object' || one === null) continue;
    const members = Object.values(one);
    if (!Array.isArray(one)) count += members.length;
    for (const member of members) values.push(member);
  }
  return count;
}

/** Equal values give equal text. Built as text, because an object would lose a member `__proto__`. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
