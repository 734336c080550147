// Properties of parsers of untrusted text that no table of examples holds: they never throw, accept what they should, and nothing else.

import { expect, test } from 'bun:test';
import fc from '#support/fc.ts';
import { duplicateMember } from '../../packages/server/src/platform/values/json.ts';
import { parseRedirectUri } from '../../packages/server/src/platform/values/redirect-uri.ts';
import { parseClientUrl, readClientDocument } from '../../packages/server/src/services/clients.ts';

const runs = { numRuns: 2_000 };

/** Any text: printable, binary, and made of the characters that the parsers look for. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom(...'lk_atsBCDF-., ;=:"*/%@[]{}\\\u0000\u00e9\u{1F680}'),
    maxLength: 200,
  }),
);

const check = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void): void =>
  fc.assert(fc.property(arbitrary, holds), runs);

test('a duplicate member is found however its name is escaped, and no other object is refused', () => {
  const name = fc.string({ unit: fc.constantFrom(...'ab"\\{}:,\u00e9'), maxLength: 5 });
  const escaped = (text: string) =>
    `"${[...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
  const duplicateIn = (text: string) => duplicateMember(text, JSON.parse(text));
  check(fc.tuple(fc.uniqueArray(name), fc.jsonValue(), name), ([names, value, again]) => {
    const members = names.map((one) => `${JSON.stringify(one)}:${JSON.stringify(value)}`);
    expect(duplicateIn(`{${members.join(',')}}`)).toBeUndefined();
    const doubled = [...members, `${escaped(again)}:1`, `${JSON.stringify(again)} :2`];
    expect(duplicateIn(`[{"x":{${doubled.join(',')}}}]`)).toBe(again);
    expect(duplicateIn(`{"x":[{${doubled.join(',')}}],"y":{}}`)).toBe(again);
    const flat = [
      ...names.filter((one) => one !== again).map((one) => `${JSON.stringify(one)}: ":"`),
      ...doubled.slice(-2),
    ];
    expect(duplicateIn(`{${flat.join(',')}}`)).toBe(again);
  });
});

const anyUrl = fc.oneof(
  anyText,
  fc.webUrl({ withQueryParameters: true, withFragments: true, validSchemes: ['https', 'http'] }),
  fc
    .string({ unit: fc.constantFrom(...'htps:/\\\\@[]127.0.1localhost?#%2e\u3002\u0430\t '), maxLength: 60 })
    .map((text) => `https://app.example${text}`),
);

test('only a listed host is a client, and its document is read, or refused, whatever it holds', () => {
  const options = { clientHosts: ['app.example'], isLocal: false };
  check(anyUrl, (text) => {
    const url = parseClientUrl(text, options);
    if (url) expect([url.href, url.protocol, url.host]).toEqual([text, 'https:', 'app.example']);
  });
  const client = new URL('https://app.example/client');
  const member = fc.oneof(fc.jsonValue(), anyUrl, fc.array(anyUrl), fc.constant('none'));
  const document = fc.record(
    {
      client_id: fc.oneof({ weight: 5, arbitrary: fc.constant(client.href) }, member),
      redirect_uris: fc.oneof({ weight: 5, arbitrary: fc.array(anyUrl) }, member),
      client_name: member,
      token_endpoint_auth_method: member,
      client_secret: member,
    },
    { requiredKeys: ['client_id', 'redirect_uris'] },
  );
  check(fc.oneof(document, fc.jsonValue()), (json) => {
    const described = readClientDocument(client, json);
    if (!described) return;
    expect(json).toMatchObject({ client_id: client.href });
    expect(json).not.toHaveProperty('client_secret');
    expect(described.redirectUris.every((uri) => parseRedirectUri(uri) !== undefined)).toBe(true);
    expect(described.name).toMatch(/^[^\p{Cc}\p{Cf}]{1,}$/u);
  });
});
