// What the page behind a sign-in link asks and says, from what it finds in its browser and what the service answers.

import '#support/english-pages.ts';
import { expect, test } from 'bun:test';
import { turns } from '#support/until.ts';
import type { Problem } from '../api.ts';
import { busyState } from '../ui/busy.ts';
import { start } from './link.ts';

type Code = Problem['code'] | undefined;
const ada = 'ada@example.com';
const used = { at: 'used', next: '/device' } as const;
const oneClick = { at: 'oneClick', email: ada } as const;

/** A page whose requests fail with these codes: the checks in turn, and the sign-in. Without a code they succeed. */
async function open(
  found: { token?: string; sentTo?: string; kept?: typeof used },
  { checks = [], signIn }: { checks?: Code[]; signIn?: Code } = {},
) {
  const made = { checks: 0, proofs: [] as object[], ends: 0 };
  const busy = busyState(() => () => made.ends === 0);
  const answer = (code: Code) =>
    code === undefined ? ({ ok: true, value: {} } as never) : { ok: false as const, problem: { code } };
  const page = start({
    token: 'lk_ml_some',
    sentTo: undefined,
    kept: undefined,
    busy,
    preview: async () => answer(checks[made.checks++]),
    verify: async (proof) => {
      made.proofs.push(proof);
      return answer(signIn);
    },
    end: () => void made.ends++,
    ...found,
  });
  await turns(1);
  return { ...page, busy, made };
}

test.each([
  ['an incomplete link', { token: '' }, undefined, { at: 'incomplete' }],
  ['one that was used here', { token: '', kept: used }, undefined, used],
  ['one that was used here, and is opened again', { kept: used }, 'invalid_grant', { at: 'dead' }],
  ['one that has ended', { sentTo: ada }, 'invalid_grant', { at: 'dead' }],
  ['one requested here', { sentTo: ada }, undefined, oneClick],
  ['one requested elsewhere', {}, undefined, { at: 'address' }],
  ['one requested here that cannot be checked', { sentTo: ada }, 'unreachable', oneClick],
  ['one requested elsewhere that cannot be checked', {}, 'rate_limited', { at: 'address' }],
] as const)('%s shows its question or its end, and does not sign in', async (_, found, code, step) => {
  const page = await open(found, { checks: [code] });
  expect(page.step.value).toEqual(step);
  expect(page.made).toEqual({ checks: 'token' in found ? 0 : 1, proofs: [], ends: 0 });
});

test.each([
  ['no address', '', undefined, undefined, /^Enter your email address/, oneClick],
  ['what is no address', 'ada', 'invalid_request', undefined, /doesn't look like an email/, oneClick],
  ['a lost connection', ada, 'unreachable', undefined, /Couldn't reach Latchkey/, oneClick],
  ['disabled cookies', ada, 'cookies_off', undefined, /browser is blocking cookies/, oneClick],
  ['another address', 'bob@b.example', 'invalid_grant', undefined, /not sent to bob@b/, { at: 'address' }],
  ['a link that ended meanwhile', ada, 'invalid_grant', 'invalid_grant', /^$/, { at: 'dead' }],
] as const)('%s is explained after the click, which can be repeated', async (_, address, ...answers) => {
  const [signIn, checkAfter, error, step] = answers;
  const page = await open({ sentTo: ada }, { checks: [undefined, checkAfter], signIn });
  await page.signIn(address);
  expect(page.busy.error.value).toMatch(error);
  expect([page.step.value, page.busy.now.value]).toEqual([step, false]);
  expect([page.made.proofs.length, page.made.ends]).toEqual([address === '' ? 0 : 1, 0]);
});

test('two clicks sign in once, with the token and the address, and nothing can be clicked until the next page is there', async () => {
  const page = await open({ sentTo: ada });
  await Promise.all([page.signIn(ada), page.signIn(ada)]);
  await page.signIn(ada);
  expect(page.made).toEqual({ checks: 1, proofs: [{ token: 'lk_ml_some', email: ada }], ends: 1 });
  expect(page.busy.now.value).toBe(true);
});

test('who wants to use another address is asked for it, without the error of the first', async () => {
  const page = await open({ sentTo: ada }, { signIn: 'unreachable' });
  await page.signIn(ada);
  page.askAddress();
  expect([page.step.value, page.busy.error.value]).toEqual([{ at: 'address' }, '']);
});
