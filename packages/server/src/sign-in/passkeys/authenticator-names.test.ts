import { expect, test } from 'bun:test';
import list from './aaguids.json' with { type: 'json' };

test('the shipped list names its source and date, and every name in it is a valid passkey name', () => {
  expect(list.source).toContain('github.com/passkeydeveloper/passkey-authenticator-aaguids');
  expect(list.date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  for (const [aaguid, name] of Object.entries(list.names)) {
    expect(aaguid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(name).toMatch(/^\P{Cc}{1,100}$/u);
  }
});
