import { describe, expect, test } from 'bun:test';
import { terminalJson } from '@latchkey/contract/untrusted-text';
import fc from '#support/fc.ts';
import { countdown, duration, listing, localTime, table, visible } from './text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the test asserts that there are none
const dangerous = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe('untrusted text for a terminal', () => {
  test('contains nothing that moves the cursor or reverses a line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(dangerous);
      }),
    );
    expect(visible('a\u001b[2Jb\u202ec')).toBe('a[U+001B][2Jb[U+202E]c');
    expect(visible('Zoë 李 👍')).toBe('Zoë 李 👍');
  });

  test('keeps its value as JSON, without dangerous characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = terminalJson({ text }, 2);
        expect(JSON.parse(json)).toEqual({ text });
        expect(json.replaceAll('\n', '')).not.toMatch(dangerous);
      }),
    );
  });

  test('is aligned in columns by its display width', () => {
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

test('durations are printed in the largest suitable unit, and times in the local time zone', () => {
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

test('a listing wider than the terminal becomes one block per entry', () => {
  const entries = [
    ['ses_a', 'den'],
    ['ses_b', ''],
  ];
  expect(listing(['ID', 'DEVICE'], entries, 13)).toEqual(['ID     DEVICE', 'ses_a  den', 'ses_b']);
  expect(listing(['ID', 'DEVICE'], entries, 12)).toEqual([
    'ID      ses_a',
    'DEVICE  den',
    '',
    'ID      ses_b',
    'DEVICE',
  ]);
  expect(listing(['ID', 'DEVICE'], [], 5)).toEqual(['ID  DEVICE']);
});
