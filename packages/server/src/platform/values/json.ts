/** A number after a bracket, colon or comma that may have more digits than JavaScript keeps, or an exponent. */
const longNumber = /[[:,]\s*-?\d(?:[\d.]{15}|[\d.]*e)/i;

/** More characters only cost time: a number that is kept has at most 17 digits. */
const maxNumberLength = 100;

/**
 * Parses JSON. A number that would lose digits becomes `NaN`, which nothing accepts, instead of another number.
 * @throws {SyntaxError | RangeError}
 */
export const parseExactly = (text: string): unknown =>
  longNumber.test(text) ? JSON.parse(text, exactOrNaN as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);

function exactOrNaN(_name: string, value: unknown, { source = '' }: { readonly source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const isExact = source.length <= maxNumberLength && decimalOf(source) === decimalOf(String(value));
  return isExact ? value : Number.NaN;
}

/** The same text for all spellings of one decimal number. */
function decimalOf(number: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const place = Number(exponent) - fraction.length + digits.length - significant.length;
  return significant === '' ? '0' : `${sign}${significant}e${place}`;
}

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
