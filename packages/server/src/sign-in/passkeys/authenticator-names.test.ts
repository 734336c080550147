import { expect, test } from 'bun:test';
import list from './aaguids.json' with { type: 'json' };
import { defaultNameOf } from './authenticator-names.ts';

test('the shipped list names its source and date, and every name in it is a valid passkey name', () => {
  expect(list.source).toContain('github.com/passkeydeveloper/passkey-authenticator-aaguids');
  expect(list.date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  for (const [aaguid, name] of Object.entries(list.names)) {
    expect(aaguid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(name).toMatch(/^\P{Cc}{1,100}$/u);
  }
});

test('a passkey with an unknown AAGUID is named Passkey', () => {
  expect(defaultNameOf('00000000-0000-0000-0000-000000000000')).toBe('Passkey');
  expect(defaultNameOf('constructor')).toBe('Passkey');
  expect(defaultNameOf('ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4')).toBe('Google Password Manager');
});
