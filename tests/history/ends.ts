// The ways in which sessions end, as their clients and the operator end them.

import { newIdempotencyKey } from '@latchkey/client/credentials';
import { operations } from '@latchkey/client/operations';
import { setDisabled } from '../../packages/server/src/identity/account/account.ts';
import { mintHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data/personal-data.ts';
import { isRefusal } from './cluster.ts';
import { type Ending, endings } from './history.ts';
import type { Held, Person } from './people.ts';

/** Ends one session; resolves with whether the answer says so. */
type EndOne = (person: Person, held: Held) => Promise<boolean>;
type EndAll = (person: Person, browser: Held) => Promise<boolean>;

const done = async (operation: Promise<unknown>): Promise<boolean> => {
  try {
    await operation;
    return true;
  } catch (error) {
    // Nothing has happened, because the credential was no longer accepted.
    if (isRefusal(error)) return false;
    throw error;
  }
};

async function disown(person: Person, held: Held): Promise<boolean> {
  const { operator: ctx } = person.world.cluster;
  const sid = await person.idOf(held);
  const [notice] = (await ctx.db.read.run(
    `SELECT id, expires_at FROM notices WHERE session_id = '${sid}'`,
    [],
  )) as { id: string; expires_at: number }[];
  if (!notice) return false;
  const handle = { subject: Buffer.from(notice.id, 'base64url'), value: Number(notice.expires_at) };
  const token = mintHandle(ctx.keys, 'notice', handle);
  return done(person.api.call('disownNotice', { body: { token } }));
}

const endOne: Record<Exclude<Ending, 'all' | 'disabled' | 'deleted'>, EndOne> = {
  one: async (person, held) => {
    const id = await person.idOf(held);
    const accessToken = person.browser?.token;
    if (id === undefined || accessToken === undefined) return false;
    return done(person.api.call('revokeSession', { accessToken, params: { id } }));
  },
  own: ({ api }, { token: accessToken }) =>
    done(api.call('revoke', { accessToken, query: { scope: 'session' } })),
  form: ({ api }, { token }) =>
    done(api.send(operations.revoke.path, { method: 'POST', body: new URLSearchParams({ token }) })),
  theft: async (person, held) =>
    held.spentToken !== undefined &&
    (await person.sendRefresh(held, held.spentToken, newIdempotencyKey())) === undefined,
  disowned: disown,
};

const endAll: Record<'all' | 'disabled' | 'deleted', EndAll> = {
  all: ({ api }, { token: accessToken }) => done(api.call('revoke', { accessToken })),
  disabled: ({ world, email }) => setDisabled(world.cluster.operator, email, true),
  deleted: async ({ api, world, email }, { token: accessToken }) => {
    if (world.random.oneIn(2)) return done(api.call('deleteAccount', { accessToken }));
    await deleteAccount(world.cluster.operator, email);
    return true;
  },
};

const isForAll = (how: Ending): how is keyof typeof endAll => how in endAll;

/** Ends a random session of a person, or all of them, and signs in again if that is needed. */
export async function endSomething(person: Person): Promise<void> {
  const { random, recorder, cluster } = person.world;
  if (!person.browser) return person.signIn();
  // Ends of everything are rarer, so that trees can grow.
  const candidates = endings.filter((how) => !isForAll(how));
  const how: Ending = random.oneIn(6) ? random.pick(endings.filter(isForAll)) : random.pick(candidates);
  if (isForAll(how)) {
    const { browser, account, email } = person;
    await recorder.ending(how, account, undefined, () => endAll[how](person, browser));
    if (how === 'deleted') return person.startAnew();
    person.forgetAll();
    if (how === 'disabled') await setDisabled(cluster.operator, email, false);
    return;
  }
  const possible = person.held.filter(
    ({ kind, spentToken }) =>
      (how !== 'theft' || spentToken !== undefined) && (how !== 'disowned' || kind === 'device'),
  );
  if (possible.length === 0) return;
  const held = random.pick(possible);
  await recorder.ending(how, held.session.account, held.session.id, () => endOne[how](person, held));
  person.forget(held);
}
