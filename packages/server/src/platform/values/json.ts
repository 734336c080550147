/** The first duplicate member name in a JSON text, which parses to `value`. A string before a colon is a name. */
export function duplicateMember(text: string, value: unknown): string | undefined {
  // Equal counts prove that there is none. Otherwise it has to be searched for: a string may contain `":`, too.
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

/** The members of all objects in a JSON value. Without recursion, because a value can be nested as deeply as it is long. */
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

/** JSON text that is equal for equal values. Built as text, since a member `__proto__` would get lost in an object. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
