// Responses to polls that a real service does not send on demand.

import { expect, test } from 'bun:test';
import { codeOf } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { createApi } from './api.ts';
import { startDeviceLogin, type Wait } from './device-login.ts';

const started = {
  device_code: 'lk_dc_x',
  user_code: 'BCDF-GHJK',
  verification_uri: 'https://login.example/device',
  verification_uri_complete: 'https://login.example/device?user_code=BCDF-GHJK',
  expires_in: 600,
  interval: 5,
};
const tokens = {
  access_token: 'lk_at_x',
  token_type: 'Bearer',
  expires_in: 14_400,
  refresh_token: 'lk_rt_x',
} as const;
const refused =
  (...refusal: Parameters<typeof refuses>) =>
  () =>
    refuses(...refusal);

interface Polling {
  /** The response to the start. */
  readonly start?: object;
  readonly holdSeconds?: number | 'default';
  /** What the person types when asked for a code. Undefined: the program cannot ask. */
  readonly codes?: readonly string[];
  readonly secondsToType?: number;
}

/** Polls with these responses, then without a decision, on a clock that never waits. */
async function polled(
  answers: (() => Response)[],
  { start = started, holdSeconds = 0, codes, secondsToType = 0 }: Polling = {},
) {
  let now = 0;
  let message: string | undefined;
  const [waits, slept, attempts]: [Wait[], number[], number[]] = [[], [], []];
  const bodies: Record<string, unknown>[] = [];
  const preferences: (string | null)[] = [];
  const keys = new Set<string | null>();
  const fetch = async (url: string, { headers, body }: RequestInit) => {
    bodies.push(JSON.parse(String(body)));
    if (url.endsWith('/device')) return responds(start);
    preferences.push(new Headers(headers).get('Prefer'));
    keys.add(new Headers(headers).get('Idempotency-Key'));
    return (answers[preferences.length - 1] ?? refused('authorization_pending'))();
  };
  const askConfirmationCode = async (attempt: number) => {
    attempts.push(attempt);
    now += secondsToType * 1000;
    return codes?.[attempt - 1] ?? '';
  };
  const login = await startDeviceLogin(createApi({ server: 'https://login.example', fetch }), {
    clock: { now: () => now, sleep: async (ms) => void slept.push(ms / 1000) },
    ...(codes && { askConfirmationCode }),
  });
  const outcome = await login
    .tokens({ ...(holdSeconds !== 'default' && { holdSeconds }), onWait: (wait) => waits.push(wait) })
    .catch((thrown) => {
      message = thrown.message;
      return thrown.code;
    });
  const seconds = waits.map((wait) => Number(wait.seconds.toFixed(6)));
  const [begun, ...polls] = bodies;
  return {
    outcome,
    message,
    seconds,
    polls: polls.length,
    preferences,
    keys: [...keys],
    slept,
    attempts,
    begun,
    sent: polls,
  };
}

const approved = () => responds(tokens);

test('slow_down sets the interval it carries, or adds 5 s', async () => {
  const slower = (interval: object = {}) => refused('slow_down', 400, {}, interval);
  const withInterval = await polled([slower({ interval: 30 }), approved]);
  expect(withInterval).toMatchObject({ outcome: tokens, seconds: [6, 42], polls: 2 });
  const without = await polled([slower(), slower(), approved]);
  expect(without).toMatchObject({ outcome: tokens, seconds: [6, 14, 24], polls: 3 });
  expect((await polled([slower({ interval: 1 }), approved])).seconds).toEqual([6, 7]);
});

test('polling continues after server errors, proxies, portals and lost connections with the same key, and honours Retry-After', async () => {
  const { outcome, seconds, keys } = await polled([
    refused('rate_limited', 429, { 'Retry-After': '40' }),
    refused('rate_limited', 429, { 'Retry-After': '999999999' }),
    refused('temporarily_unavailable', 503, { 'Retry-After': '1' }),
    refused('server_error', 500),
    () => new Response('<html>Bad gateway</html>', { status: 502 }),
    () => new Response('<html>Accept our terms</html>'),
    () => Response.redirect('https://portal.example/'),
    () => {
      throw new TypeError('network');
    },
    approved,
  ]);
  expect(outcome).toEqual(tokens);
  expect(seconds).toEqual([6, 40, 600, 6, 6, 6, 6, 6, 12]);
  expect(keys).toEqual([expect.stringMatching(/^[\x21-\x7e]{1,128}$/)]);
});

test('errors that polling cannot resolve end it', async () => {
  for (const code of [
    'access_denied',
    'expired_token',
    'invalid_grant',
    'account_disabled',
    'invalid_request',
  ])
    expect((await polled([refused(code)])).outcome).toBe(code);
  expect((await polled([() => responds({ access_token: 'x' }), approved])).polls).toBe(2);
});

test('the first held poll comes at once, later ones an interval after the previous response', async () => {
  const held = [refused('authorization_pending'), refused('slow_down', 400, {}, { interval: 10 }), approved];
  expect(await polled(held, { holdSeconds: 25 })).toMatchObject({
    outcome: tokens,
    seconds: [6, 14],
    preferences: ['wait=25', 'wait=25', 'wait=25'],
  });
  for (const holdSeconds of [60, 'default'] as const)
    expect((await polled([approved], { holdSeconds })).preferences).toEqual(['wait=25']);
  expect((await polled([approved])).preferences).toEqual([null]);
});

test('after a held poll was cut off, no further one is held', async () => {
  const cuts = [
    () => new Response('<html>Gateway timeout</html>', { status: 504 }),
    () => {
      throw new TypeError('network');
    },
  ];
  for (const cut of cuts) {
    const answers = [cut, refused('authorization_pending'), approved];
    const { preferences } = await polled(answers, { holdSeconds: 25 });
    expect(preferences).toEqual(['wait=25', null, null]);
  }
  const busy = refused('temporarily_unavailable', 503, { 'Retry-After': '1' });
  expect((await polled([busy, approved], { holdSeconds: 25 })).preferences).toEqual(['wait=25', 'wait=25']);
});

test('polling stops after twice the lifetime of the code', async () => {
  const { outcome, polls } = await polled([]);
  expect([outcome, polls]).toEqual(['expired_token', 201]);
});

test('an incomplete response or a link that is not a web page is refused', async () => {
  for (const start of [
    {},
    { ...started, device_code: 7 },
    { ...started, device_code: 'x'.repeat(1_025) },
    { ...started, user_code: 'X'.repeat(65) },
    { ...started, user_code: 'BC\u001b[2J' },
    { ...started, expires_in: 0 },
    { ...started, expires_in: 1e300 },
    { ...started, interval: 'often' },
    { ...started, verification_uri_complete: 'file:///etc/passwd' },
    { ...started, verification_uri: `https://login.example/${'x'.repeat(2_048)}` },
  ])
    expect(await codeOf(polled([], { start }))).toBe('not_latchkey');
});

test('a link that leads to another origin is refused: the person would approve at a server that was not asked', async () => {
  for (const address of [
    'https://honest.example/device',
    'http://login.example/',
    'https://login.example:8443/',
  ])
    for (const member of ['verification_uri', 'verification_uri_complete']) {
      const error = await polled([], { start: { ...started, [member]: address } }).catch((error) => error);
      expect([error.code, error.namedServer]).toEqual(['wrong_address', new URL(address).origin]);
    }
});

test('an abort ends polling at once, between polls and during one', async () => {
  for (const moment of ['waiting', 'polling']) {
    const controller = new AbortController();
    const fetch = (url: string, { signal }: RequestInit) => {
      if (url.endsWith('/device')) return Promise.resolve(responds(started));
      if (moment === 'polling') controller.abort();
      return new Promise<Response>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const api = createApi({ server: 'https://login.example', fetch });
    const login = await startDeviceLogin(
      api,
      moment === 'polling' ? { clock: { now: () => 0, sleep: async () => {} } } : {},
    );
    const ended = codeOf(login.tokens({ signal: controller.signal }));
    if (moment === 'waiting') controller.abort();
    expect(await ended).toBe('aborted');
  }
  const api = createApi({ server: 'https://login.example' });
  expect(await codeOf(startDeviceLogin(api, { signal: AbortSignal.abort() }))).toBe('aborted');
});

const required = refused('confirmation_required');

test('a code that the service requires is asked for, and sent until it is answered', async () => {
  const lost = () => {
    throw new Error('lost');
  };
  const result = await polled(
    [required, refused('slow_down', 400, {}, { interval: 10 }), lost, required, approved],
    { codes: ['111111', '222222'] },
  );
  expect([result.outcome, result.begun, result.attempts]).toEqual([tokens, { confirmation: true }, [1, 2]]);
  const typed = [undefined, '111111', '111111', '111111', '222222'];
  expect(result.sent.map((poll) => poll['confirmation_code'])).toEqual(typed);
});

test('the time it takes to type the code counts as waiting', async () => {
  for (const [secondsToType, wait] of [
    [4, 2],
    [60, 0],
  ] as const) {
    const { slept } = await polled([required, approved], {
      codes: ['111111'],
      secondsToType,
      holdSeconds: 25,
    });
    expect(slept).toEqual([wait]);
  }
});

test('a third wrong code ends the login, and so does a program that cannot ask', async () => {
  const denied = refused('access_denied');
  const wrong = await polled([required, required, required, denied], { codes: ['1', '2', '3'] });
  expect(wrong).toMatchObject({
    outcome: 'access_denied',
    attempts: [1, 2, 3],
    message: 'The code was wrong too often, so the request was refused.',
  });
  const silent = await polled([required]);
  expect([silent.outcome, silent.begun]).toEqual(['access_denied', {}]);
});
