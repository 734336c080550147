import { expect, test } from 'bun:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { chooseCoding, fileResponse, storeFile } from './stored-file.ts';

const text = 'body { color: red }\n'.repeat(100);
const file = storeFile(text);
const answer = (asked: Record<string, string>) =>
  fileResponse(file, new Headers(asked), { 'Content-Type': 'text/css' });

test.each([
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP ; q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.000, gzip;q=0', 'identity'],
  ['*', 'br'],
  ['br;q=0, *;q=0.1', 'gzip'],
  ['*;q=0', 'identity'],
  ['br;q=nonsense', 'identity'],
  ['deflate', 'identity'],
  ['brgzip', 'identity'],
])('of the codings in "%s" the best one that is kept is chosen: %s', (accepted, chosen) => {
  expect(chooseCoding(accepted)).toBe(chosen as never);
});

test('every coding holds the same text, has its length and a tag of its own, and says what it varies by', async () => {
  const tags = new Set<string>();
  for (const [accepted, decode] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    ['identity', (bytes: Buffer) => bytes],
  ] as const) {
    const response = answer({ 'Accept-Encoding': accepted });
    const { headers } = response;
    expect(response.status).toBe(200);
    expect(headers.get('Content-Encoding')).toBe(accepted === 'identity' ? null : accepted);
    expect(headers.get('Vary')).toBe('Origin, Accept-Encoding');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(headers.get('Content-Length')).toBe(String(bytes.length));
    expect(decode(bytes).toString()).toBe(text);
    tags.add(headers.get('ETag') ?? '');
  }
  expect(tags.size).toBe(3);
});

test('whoever has it already gets 304 without a body, in the coding he has only', async () => {
  const tag = answer({ 'Accept-Encoding': 'br' }).headers.get('ETag') ?? '';
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = answer({ 'Accept-Encoding': 'br', 'If-None-Match': known });
    expect([known, again.status]).toEqual([known, 304]);
    expect(again.headers.get('ETag')).toBe(tag);
    expect(await again.text()).toBe('');
  }
  expect(answer({ 'If-None-Match': tag }).status).toBe(200);
  expect(answer({ 'Accept-Encoding': 'br', 'If-None-Match': '"other"' }).status).toBe(200);
});
