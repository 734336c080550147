// Random walks over everything that people and programs do with an account, on two nodes, while the clock also runs backwards.

import { expect, test } from 'bun:test';
import { addPasskey, newAuthenticator, outcome } from '#support/account.ts';
import { day, type Login } from '#support/account-model.ts';
import { Walk } from '#support/account-walk.ts';
import { onBothDatabases } from '#support/app.ts';
import { redirectUri } from '#support/authorize.ts';
import fc from '#support/fc.ts';
import { isLong } from '#support/long.ts';
import { exchange } from '#support/runs.ts';
import { seed } from '#support/seed.ts';
import { declareService } from '#support/services.ts';

/** Long enough for a walk. */
const settings = {
  LATCHKEY_REFRESH_REUSE_LEEWAY: '0',
  LATCHKEY_RECENT_LOGIN_TTL: `${30 * day}`,
  LATCHKEY_ACCESS_TOKEN_TTL: `${30 * day}`,
  LATCHKEY_REFRESH_IDLE_TTL: `${100 * day}`,
  LATCHKEY_DEVICE_CODE_TTL: `${day}`,
  LATCHKEY_MAGIC_LINK_TTL: `${day}`,
};

type Step = (walk: Walk, first: number, second: number) => Promise<unknown>;

/** A step that a live login of one of these kinds takes, if there is one. */
const as =
  (kinds: readonly Login['kind'][], step: (walk: Walk, by: Login, which: number) => Promise<unknown>): Step =>
  async (walk, choice, which) => {
    const by = walk.pick(walk.liveOf(...kinds), choice);
    if (by) await step(walk, by, which);
  };

const steps = {
  'signs in': (walk, place, replaced) => {
    const cookies = walk.liveOf('browser').filter(({ credential }) => 'cookie' in credential);
    return walk.signIn(place % 4, replaced % 3 === 0 ? walk.pick(cookies, replaced) : undefined);
  },
  'signs in with a cookie': (walk, place, replaced) =>
    walk.signIn(place % 4, walk.pick(walk.liveOf('browser'), replaced)),
  'signs in with a passkey': async (walk, choice, place) => {
    const passkey = walk.pick(walk.model.passkeys, choice);
    if (passkey) await walk.signInWithPasskey(passkey, place % 4);
  },
  'adds a passkey': as(['browser'], async (walk, by) => {
    const { passkeys } = walk.model;
    if ('cookie' in by.credential || walk.model.keptPasskeys.length >= 20) return;
    const [authenticator, name] = [newAuthenticator(walk.app), walk.newName()];
    const added = await addPasskey(walk.app, { access_token: by.credential.token }, authenticator, name);
    expect(outcome(added)).toBe('201');
    passkeys.push({ at: walk.model.next(), id: added.body.id, name, authenticator, isGone: false });
    await walk.expectNotice('passkey_added');
  }),
  'removes a passkey': as(['browser'], async (walk, by, which) => {
    const passkey = walk.pick(walk.model.passkeys, which);
    if (!passkey) return;
    const { status } = await walk.ask(by, 'DELETE', `/passkeys/${passkey.id}`);
    expect(status).toBe(passkey.isGone ? 404 : 204);
    await walk.expectNotice('passkey_removed', !passkey.isGone);
    passkey.isGone = true;
  }),
  'renames a passkey': as(['browser', 'device'], async (walk, by, which) => {
    const passkey = walk.pick(walk.model.keptPasskeys, which);
    if (!passkey) return;
    passkey.name = walk.newName();
    const { status } = await walk.ask(by, 'PATCH', `/passkeys/${passkey.id}`, { name: passkey.name });
    expect(status).toBe(200);
  }),
  'signs a device in': as(['browser'], async (walk, by) => walk.fetch(await walk.approveDevice(by))),
  'signs in to an application': as(['browser'], async (walk, by) => {
    const open = await walk.approveApp(by);
    if (open) await walk.fetch(open);
  }),
  'approves a device': as(['browser'], (walk, by) => walk.approveDevice(by)),
  'approves an application': as(['browser'], (walk, by) => walk.approveApp(by)),
  'fetches what was approved': async (walk, choice) => {
    const approvals = walk.model.open.filter(({ kind }) => kind === 'device' || kind === 'app');
    const open = walk.pick(approvals, choice);
    if (open) await walk.fetch(open);
  },
  'creates a key': as(['browser'], async (walk, by) => {
    if (walk.liveOf('key').length >= 50) return;
    const name = walk.newName();
    const { body } = await walk.ask(by, 'POST', '/keys', { name, scope: '*', expires_in: 100 * day });
    await walk.begin('key', { token: body.key }, { name });
  }),
  'removes a key': as(['browser', 'device'], async (walk, by, which) => {
    const key = walk.pick(walk.liveOf('key'), which);
    if (!key) return;
    expect((await walk.ask(by, 'DELETE', `/keys/${key.id}`)).status).toBe(204);
    key.hasEnded = true;
    await walk.expectNotice('key_removed');
  }),
  'starts a run': as(['browser', 'device', 'key', 'run'], async (walk, within) => {
    const { credential } = within;
    const wants = { scope: 'profile', expires_in: '3600' };
    const answer =
      'token' in credential
        ? await exchange(walk.app, credential.token, wants)
        : await exchange(walk.app, undefined, { ...wants, ...credential });
    // Depth is limited.
    if (answer.status === 409) return;
    expect(outcome(answer)).toBe('200');
    const endsAt = Math.min(walk.now + 3_600_000, within.endsAt);
    await walk.begin('run', { token: answer.body.access_token }, { within, endsAt });
  }),
  'changes the address': as(['browser'], async (walk, by, which) => {
    const { address, addresses } = walk.model;
    const inCapitals = address.toUpperCase().replace('EXAMPLE.COM', 'example.com');
    await walk.changeAddress(by, walk.pick([walk.newAddress(), inCapitals, ...addresses], which)!);
  }),
  'asks for another address': as(['browser'], (walk, by) => walk.openChange(by, walk.newAddress())),
  'asks for a link': (walk) => walk.openSignIn(),
  'signs out': as(['browser', 'device', 'app'], async (walk, login) => {
    expect((await walk.ask(login, 'POST', '/revoke?scope=session')).status).toBe(204);
    login.hasEnded = true;
  }),
  refreshes: async (walk, choice) => {
    const login = walk.pick(
      walk.liveOf('browser', 'device').filter((one) => one.refreshToken),
      choice,
    );
    if (!login) return;
    const json = { refresh_token: login.refreshToken };
    const { body } = await walk.app.ask('POST', '/refresh', { json });
    login.spentToken = login.refreshToken!;
    login.refreshToken = body.refresh_token;
  },
  'is stolen from': async (walk, choice) => {
    const login = walk.pick(
      walk.liveOf('browser', 'device').filter((one) => one.spentToken),
      choice,
    );
    if (!login) return;
    await walk.app.ask('POST', '/refresh', { json: { refresh_token: login.spentToken } });
    login.hasEnded = true;
    login.isStolen = true;
    await walk.expectNotice('theft_stopped');
  },
  'gets the mail': async (walk) => {
    await walk.run(
      `UPDATE outbox SET sent_at = ${walk.now} WHERE user_id = '${walk.userId}' AND sent_at IS NULL`,
    );
    for (const notice of walk.model.notices) notice.isSent = true;
  },
  'time passes': async (walk, choice) => {
    const seconds = [1, 90, -30, 3_600, day / 2, -2, 3 * day][choice % 7]!;
    if (walk.elapsed + seconds > 29 * day) return;
    walk.elapsed += seconds;
    walk.nodes[0]!.pass(seconds);
  },
  sweeps: (walk) => walk.app.sweep(),
  'uses a link': async (walk, choice, approver) => {
    const notice = walk.pick(
      walk.model.notices.filter(({ isVoid }) => !isVoid || choice % 4 === 0),
      choice,
    );
    if (notice) await walk.use(notice, approver % 2 === 0);
  },
  'uses the newest link': async (walk, _, approver) => {
    const notice = walk.model.notices.findLast((one) => !one.isVoid && !one.undone);
    if (notice) await walk.use(notice, approver % 2 === 0);
  },
} satisfies Record<string, Step>;

type StepName = keyof typeof steps;

/** How much more often than once the steps are taken from which most depends. */
const weights: Partial<Record<StepName, number>> = {
  'uses a link': 4,
  'signs in': 3,
  'signs in with a cookie': 2,
  'signs in with a passkey': 4,
  'adds a passkey': 2,
  'signs a device in': 2,
  'starts a run': 2,
  'changes the address': 4,
  'gets the mail': 2,
};

// The first one is what others shrink to.
const names = ['gets the mail', ...Object.keys(steps)] as StepName[];
const weighted = names.flatMap((name) => Array.from({ length: weights[name] ?? 1 }, () => name));

/** A step and the numbers by which it chooses. */
const step = fc.tuple(fc.constantFrom(...weighted), fc.nat(1_000), fc.nat(1_000));

/** Each is a test of its own, so that none takes long. */
const rounds = Array.from({ length: isLong ? 12 : 1 }, (_, round) => round);

onBothDatabases('whatever happens to an account', (open, dialect) => {
  const walks = dialect === 'sqlite' ? 25 : 10;

  test.each(rounds)('"this was not me" undoes everything since, and nothing before (%d)', async (round) => {
    const app = await open({ settings });
    const node = dialect === 'postgres' ? await open({ settings, beside: app }) : app;
    const service = await declareService(app.ctx, { name: 'a service', redirectUris: [redirectUri] });
    let number = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 70 }), async (taken) => {
      const walk = new Walk([app, node], service, `ada${number++}`);
      await walk.signIn(0);
      for (const [name, first, second] of taken) {
        try {
          await (steps[name] as Step)(walk, first, second);
        } catch (error) {
          throw new Error(`in "${name}"`, { cause: error });
        }
      }
      await walk.tryDoors();
    });
    await fc.assert(property, { numRuns: walks, seed: (seed + round) | 0 });
  });
});
