/**
 * One line of anybody's text, made safe for a terminal: control, format, bidi-override, invisible and unassigned
 * characters are spelled out as `[U+202E]`, and a pile of combining marks is cut down.
 */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/[\p{C}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}]/gu, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
    });
}

/** JSON whose text cannot move a cursor or turn a line around; what it says is the same. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n'
      ? character
      : Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
  );
}

/** Rows in columns, as lines. Cells may hold anybody's text. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const safe = rows.map((row) => row.map(visible));
  const width = (column: number) => Math.max(...safe.map((row) => Bun.stringWidth(row[column] ?? '')));
  const widths = (safe[0] ?? []).map((_, column) => width(column));
  return safe.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** A moment as `2026-11-21 04:50`, by the clock on the wall. */
export function localTime(time: string | number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Seconds as `9:41`. */
export const countdown = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

/** Seconds as the largest unit that says enough: `45 seconds`, `3 hours`. */
export function duration(seconds: number): string {
  const count = (number: number, unit: string) => `${number} ${unit}${number === 1 ? '' : 's'}`;
  if (seconds < 120) return count(Math.round(seconds), 'second');
  if (seconds < 2 * 3600) return count(Math.round(seconds / 60), 'minute');
  if (seconds < 2 * 86_400) return count(Math.round(seconds / 3600), 'hour');
  return count(Math.round(seconds / 86_400), 'day');
}
