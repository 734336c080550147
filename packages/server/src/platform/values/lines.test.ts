import { expect, test } from 'bun:test';
import { linesOf } from './lines.ts';

async function* inChunks(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1, 2, 3, 100])(
  'lines are the same however the stream is cut (%d bytes), and one that is too long costs no other',
  async (size) => {
    const lines = await Array.fromAsync(linesOf(inChunks('ab\n\ntoo long\nçd\nend', size), 4));
    expect(lines.map((line) => line?.toString())).toEqual(['ab', '', undefined, 'çd', 'end']);
    expect(await Array.fromAsync(linesOf(inChunks('', size), 4))).toEqual([]);
  },
);
