import { expect, test } from 'bun:test';
import { closeAtTestEnd } from '#support/cleanup.ts';
import type { Api } from '../api.ts';
import { authenticationOf, failureOf, inJson, type Received, registrationOf } from './ceremony.ts';
import { signalAccount } from './signal.ts';

const named = (name: string) => new DOMException('', name);

test('NotAllowedError counts as cancelled only if the device has an authenticator', () => {
  expect(failureOf(named('NotAllowedError'), true)).toBe('passkey_cancelled');
  expect(failureOf(named('NotAllowedError'), false)).toBe('no_authenticator');
});

test('every other browser error has its own code', () => {
  expect(failureOf(named('InvalidStateError'), true)).toBe('passkey_already_there');
  expect(failureOf(named('AbortError'), true)).toBe('passkey_aborted');
  expect(failureOf(named('ConstraintError'), true)).toBe('no_authenticator');
  expect(failureOf(named('SecurityError'), true)).toBe('passkey_failed');
  expect(failureOf('no error at all', true)).toBe('passkey_failed');
});

const bytes = new Uint8Array([0xfb, 0xff, 0xfe, 0x01]);
const text = '-__-AQ';
const padded = '+//+AQ==';
const names = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'];
const inAll = (value: unknown) => Object.fromEntries(names.map((name) => [name, value]));
const withoutJson = (): never => {
  throw new TypeError('Illegal invocation');
};

test.each<[string, object]>([
  [
    'as the browser makes it',
    { id: text, rawId: bytes.buffer, response: inAll(bytes.buffer), toJSON: withoutJson },
  ],
  ['with a padded id, no rawId and views', { id: padded, response: inAll(bytes), toJSON: withoutJson }],
  [
    'without buffers, whose toJSON writes padded base64',
    { id: padded, response: {}, toJSON: () => ({ id: padded, response: inAll(padded) }) },
  ],
])('a credential %s is sent in base64url', (_, credential) => {
  const common = { id: text, rawId: text, type: 'public-key', authenticatorAttachment: null };
  const { attestationObject, clientDataJSON, ...assertion } = inAll(text);
  expect(inJson(registrationOf, credential as Received)).toMatchObject({
    ...common,
    response: { clientDataJSON, attestationObject, transports: [] },
  });
  expect(inJson(authenticationOf, credential as Received)).toMatchObject({
    ...common,
    response: { clientDataJSON, ...assertion },
  });
});

test('a credential without bytes and without JSON is a failure', () => {
  const credential = { id: text, response: {}, toJSON: withoutJson } as Received;
  expect(() => inJson(registrationOf, credential)).toThrow('The browser created or used no passkey.');
});

test('the passkeys that are signalled are those of the user who is signalled, who may be another each time', async () => {
  const signalled: object[] = [];
  const signalAllAcceptedCredentials = async (sent: object) => void signalled.push(sent);
  const globals = { window: globalThis, PublicKeyCredential: { signalAllAcceptedCredentials } };
  for (const [name, value] of Object.entries(globals)) {
    Reflect.set(globalThis, name, value);
    closeAtTestEnd(async () => void Reflect.deleteProperty(globalThis, name));
  }
  for (const id of ['a', 'b']) {
    const call = async () => ({ rp: { id: 'rp' }, user: { id }, excludeCredentials: [{ id }] });
    await signalAccount({ call } as unknown as Api);
    expect(signalled.pop()).toEqual({ rpId: 'rp', userId: id, allAcceptedCredentialIds: [id] });
  }
});
