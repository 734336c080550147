import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { countdown, duration, localTime, table, visible, visibleJson } from './text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
const dangerous = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe('text for a terminal', () => {
  test('holds nothing that moves a cursor or turns a line around, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(dangerous);
      }),
    );
    expect(visible('a\u001b[2Jb\u202ec')).toBe('a[U+001B][2Jb[U+202E]c');
    expect(visible('Zoë 李 👍')).toBe('Zoë 李 👍');
  });

  test('as JSON says the same as before, and nothing dangerous', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = visibleJson({ text }, 2);
        expect(JSON.parse(json)).toEqual({ text });
        expect(json.replaceAll('\n', '')).not.toMatch(dangerous);
      }),
    );
  });

  test('stands in columns by its width on the screen', () => {
    expect(
      table([
        ['A', 'B'],
        ['李', 'x'],
        ['abc', ''],
      ]),
    ).toEqual(['A    B', '李   x', 'abc']);
    expect(table([])).toEqual([]);
  });
});

test('times and spans are told in the largest unit that says enough', () => {
  expect([0, 1, 45, 119, 120, 7199, 7200, 200_000].map(duration)).toEqual([
    '0 seconds',
    '1 second',
    '45 seconds',
    '119 seconds',
    '2 minutes',
    '120 minutes',
    '2 hours',
    '2 days',
  ]);
  expect([0, 59.9, 61, 600].map(countdown)).toEqual(['0:00', '0:59', '1:01', '10:00']);
  expect(localTime(new Date(2026, 0, 2, 3, 4).getTime())).toBe('2026-01-02 03:04');
  expect(localTime('whenever')).toBe('whenever');
});
