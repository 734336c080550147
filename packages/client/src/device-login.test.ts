import { expect, test } from 'bun:test';
import type { TokenSet } from '@latchkey/contract/tokens';
import { outcome } from '#support/account.ts';
import { openApp } from '#support/app.ts';
import { apiOf, clockOf, codeOf } from '#support/client.ts';
import { decideDevice } from '#support/devices.ts';
import { fresh } from '#support/shared.ts';
import type { Clock } from './clock.ts';
import { startDeviceLogin } from './device-login.ts';

const service = fresh(() => openApp('sqlite'));

/** A machine whose clock runs `speed` times as fast as the service's; `before` is called before each wait. */
const clockAtSpeed = (speed: number, before: () => Promise<void>): Clock => ({
  now: () => service.ctx.clock() * speed,
  sleep: async (ms) => {
    await before();
    service.pass(Math.round(ms / speed) / 1000);
  },
});

const outcomes = (): string[] =>
  service.logs
    .map((line) => JSON.parse(line))
    .filter(({ route }) => route === '/api/v1/auth/token')
    .map(({ outcome }) => outcome);

const approve = async (user_code: string, by?: TokenSet): Promise<string> =>
  outcome(await decideDevice(service, 'approve', { user_code }, by ?? (await service.login())));

test.each([0.8, 1.3, 2])(
  'a clock at %d times the right speed completes the login without repeated slow_down responses',
  async (speed) => {
    let waits = 0;
    const clock = clockAtSpeed(speed, async () => {
      waits++;
      if (waits === 25) expect(await approve(login.userCode)).toBe('204');
    });
    const login = await startDeviceLogin(service.api, { clock });
    await login.tokens({ holdSeconds: 0 });
    const slowed = outcomes().filter((outcome) => outcome === 'slow_down').length;
    expect(slowed).toBeLessThanOrEqual(speed === 2 ? 5 : 0);
    expect(outcomes().slice(-10)).toEqual([...Array(9).fill('authorization_pending'), 'ok']);
  },
);

test('a login that is cancelled, or aborted while its code is on its way, cannot be approved, nor its session used', async () => {
  const browser = await service.login();
  const pending = await startDeviceLogin(service.api, { clock: clockOf(service) });
  await pending.cancel();
  expect(await approve(pending.userCode, browser)).toBe('400 invalid_grant');
  expect(await codeOf(pending.tokens())).toBe('invalid_grant');
  const started = await startDeviceLogin(service.api, { clock: clockOf(service) });
  expect(await approve(started.userCode, browser)).toBe('204');
  const tokens = await started.tokens();
  await started.cancel();
  expect((await service.ask('GET', '/me', { token: tokens.access_token })).status).toBe(401);

  const stop = new AbortController();
  let code = '';
  const api = apiOf(service, async (url, init) => {
    const response = await service.fetch(url, init);
    if (!url.endsWith('/device')) return response;
    code = (await response.clone().json()).user_code;
    stop.abort();
    return response;
  });
  expect(await codeOf(startDeviceLogin(api, { signal: stop.signal }))).toBe('aborted');
  expect(await approve(code, browser)).toBe('400 invalid_grant');
});
