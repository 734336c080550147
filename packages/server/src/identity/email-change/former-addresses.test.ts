import { describe, expect, test } from 'bun:test';
import {
  addPasskey,
  askForAddress,
  mailsTo,
  newAuthenticator,
  outcome,
  passkeyLogin,
  subjects,
  tokenIn,
  verifyAddress,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import { formerAddressTtlSeconds, returnsFrom, undoableOf } from './former-addresses.ts';

const day = 86_400;
const own = 'v@example.com';
const evil = 'e2@evil.example';

/** The changes of an account that had these addresses in turn, one a second from 1 on. */
const changesThrough = (...addresses: string[]) =>
  addresses.slice(1).map((to, index) => {
    const from = addresses[index]!;
    const changed_at = (index + 1) * 1000;
    return { old_email: from, old_email_key: from, new_email: to, new_email_key: to, changed_at };
  });

const lastOf = (...addresses: string[]) => {
  const confirmed = changesThrough(...addresses);
  return returnsFrom(confirmed.at(-1)!, confirmed.slice(0, -1), confirmed.length * 1000);
};

describe('precedence of former addresses', () => {
  test('a change to an address that the account never had can be undone', () => {
    expect(lastOf('v', 'e')).toBeUndefined();
    expect(lastOf('v', 'w', 'e')).toBeUndefined();
  });

  test('a change back to an earlier address is dated from when the account last left that address', () => {
    expect(lastOf('v', 'e', 'v')).toBe(1000);
    expect(lastOf('v', 'e2', 'e3', 'v')).toBe(1000);
    expect(lastOf('v', 'e2', 'v', 'e3', 'v')).toBe(3000);
    expect(lastOf('v', 'w', 'e', 'w')).toBe(2000);
  });

  test('after changes back and forth, every change away from the first address can be undone', () => {
    expect(lastOf('v', 'e', 'v', 'e')).toBeUndefined();
    expect(lastOf('v', 'e', 'v', 'e', 'v', 'e')).toBeUndefined();
    expect(undoableOf(changesThrough('v', 'e', 'v', 'e', 'v')).map(({ changed_at }) => changed_at)).toEqual([
      1000, 3000,
    ]);
  });

  test('undoing a change restores the address before it, or the earlier one that the account has returned to since', () => {
    const restored = (...addresses: string[]) =>
      undoableOf(changesThrough(...addresses)).map(({ restores }) => restores.key);
    expect(restored('v', 'e', 'f')).toEqual(['v', 'e']);
    expect(restored('v', 'e', 'f', 'v')).toEqual(['v', 'v']);
    expect(restored('v', 'e', 'f', 'v', 'g', 'h')).toEqual(['v', 'v', 'v', 'g']);
    expect(restored('w', 'v', 'e', 'f', 'v', 'w')).toEqual(['w', 'w', 'w']);
  });

  test('after 30 days a former address no longer takes precedence', () => {
    const confirmed = changesThrough('v', 'e', 'v');
    const back = (now: number) => returnsFrom(confirmed[1]!, confirmed.slice(0, 1), now);
    expect(back(1000 + formerAddressTtlSeconds * 1000 - 1)).toBe(1000);
    expect(back(1000 + formerAddressTtlSeconds * 1000)).toBeUndefined();
  });
});

/** Signs in by email from an unfamiliar browser and network. */
async function signInElsewhere(app: TestApp, email: string): Promise<Tokens> {
  await app.ask('POST', '/magic_link', { json: { email } });
  const mail = (await app.mails()).find(({ to, token }) => to === email && token);
  const strange = { peer: '198.51.100.7', headers: { 'User-Agent': 'Thief/1.0' } };
  const answer = await app.ask('POST', '/magic_link/verify', { json: { token: mail?.token }, ...strange });
  expect(answer.status).toBe(200);
  return answer.body;
}

const change = async (app: TestApp, login: Tokens, email: string) =>
  expect((await verifyAddress(app, await askForAddress(app, login, email))).status).toBe(200);

/** Every link of a notice that was mailed to an address. */
const undoLinks = async (app: TestApp, to: string): Promise<string[]> =>
  (await app.mails())
    .filter((mail) => mail.to === to && mail.text.includes('/not-me#'))
    .map((mail) => tokenIn(mail));

const use = (app: TestApp, token: string) => app.ask('POST', '/notices/disown', { json: { token } });

const emailOf = async (app: TestApp, { access_token: token }: Tokens) =>
  (await app.ask('GET', '/me', { token })).body.email;

onBothDatabases('a change back to an earlier address', (open) => {
  /** A thief changes the address, and the owner changes it back with a passkey some days later. */
  async function takenAndReturned(days: number) {
    const app = await open();
    const authenticator = newAuthenticator(app);
    await addPasskey(app, await app.login(own), authenticator);
    await change(app, await signInElsewhere(app, own), evil);
    app.pass(days * day);
    const owner: Tokens = (await passkeyLogin(app, authenticator)).body;
    await change(app, owner, own);
    return { app, authenticator, owner };
  }

  test('a change back to an earlier address sends no undo link to the address it leaves and voids those sent there', async () => {
    const { app, authenticator } = await takenAndReturned(5);
    expect(await mailsTo(app, evil, subjects.emailChanged)).toEqual([]);
    const [email] = await mailsTo(app, evil, 'Your Latchkey account no longer uses this address');
    expect(email?.text).not.toContain('lk_');
    const links = await undoLinks(app, evil);
    for (const days of [0, 3, 3]) {
      app.pass(days * day);
      for (const link of links) expect(outcome(await use(app, link))).toBe('400 invalid_grant');
    }
    expect(await emailOf(app, (await passkeyLogin(app, authenticator)).body)).toBe(own);
    await app.close();
  });

  test('a change back voids those links even after the undo link of the first change has expired and been deleted', async () => {
    const { app } = await takenAndReturned(9);
    await app.sweep();
    for (const link of await undoLinks(app, evil))
      expect(outcome(await use(app, link))).toBe('400 invalid_grant');
    expect(await mailsTo(app, evil, subjects.emailChanged)).toEqual([]);
    await app.close();
  });

  test('after a change back, the owner’s earlier notice still ends the thief’s sessions', async () => {
    const { app, owner } = await takenAndReturned(5);
    const token = tokenIn((await mailsTo(app, own, subjects.emailChanged)).at(0));
    const { status, body } = await use(app, token);
    expect([status, body.email]).toEqual([200, own]);
    expect((await app.ask('GET', '/me', { token: owner.access_token })).status).toBe(401);
    await app.close();
  });

  test('a change back to an earlier address is not undone when the session that made it is disowned', async () => {
    const app = await open();
    await app.login(own);
    const second = await signInElsewhere(app, own);
    const [link] = await undoLinks(app, own);
    await change(app, await app.login(own), evil);
    app.pass(1);
    await change(app, second, own);
    expect((await use(app, link!)).body.email).toBeNull();
    expect(await emailOf(app, await app.login(own))).toBe(own);
    await app.close();
  });

  test('a thief gains nothing by changing back and forth: the owner can undo every change away from the first address', async () => {
    const app = await open();
    await app.login(own);
    const thief = await signInElsewhere(app, own);
    for (const address of [evil, own, 'e3@evil.example', own, evil]) {
      await change(app, thief, address);
      app.pass(1);
    }
    expect(await undoLinks(app, 'e3@evil.example')).toEqual([]);
    expect(await undoLinks(app, evil)).toEqual([]);
    app.pass(6 * day);
    const token = tokenIn((await mailsTo(app, own, subjects.emailChanged)).at(0));
    expect((await use(app, token)).body.email).toBe(own);
    await app.close();
  });

  test('undoing a thief’s change restores the address that the owner had changed to', async () => {
    const app = await open();
    await change(app, await app.login(own), 'w@example.com');
    app.pass(day);
    await change(app, await signInElsewhere(app, 'w@example.com'), evil);
    const token = tokenIn((await mailsTo(app, 'w@example.com', subjects.emailChanged)).at(0));
    expect((await use(app, token)).body.email).toBe('w@example.com');
    await app.close();
  });
});
