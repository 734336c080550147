import { expect, test } from 'bun:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { chooseCoding, fileResponse, storeFile } from './stored-file.ts';

const text = 'body { color: red }\n'.repeat(100);
const file = storeFile(text);
const respond = (headers: Record<string, string>) =>
  fileResponse(file, new Headers(headers), { 'Content-Type': 'text/css' });

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
])('Accept-Encoding "%s" selects %s', (accepted, chosen) => {
  expect<string>(chooseCoding(accepted)).toBe(chosen);
});

test('every coding decodes to the same text, with its own length and entity tag, and Vary', async () => {
  const tags = new Set<string>();
  for (const [accepted, decode] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    ['identity', (bytes: Buffer) => bytes],
  ] as const) {
    const response = respond({ 'Accept-Encoding': accepted });
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

test('If-None-Match with the entity tag of the same coding gets 304 without a body', async () => {
  const tag = respond({ 'Accept-Encoding': 'br' }).headers.get('ETag') ?? '';
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = respond({ 'Accept-Encoding': 'br', 'If-None-Match': known });
    expect([known, again.status]).toEqual([known, 304]);
    expect(again.headers.get('ETag')).toBe(tag);
    expect(await again.text()).toBe('');
  }
  expect(respond({ 'If-None-Match': tag }).status).toBe(200);
  expect(respond({ 'Accept-Encoding': 'br', 'If-None-Match': '"other"' }).status).toBe(200);
});
