import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '../../../tests/support/app.ts';
import { apiOf, clockOf, fetchOf, lossy } from '../../../tests/support/client.ts';
import { createApi } from './api.ts';
import type { Clock } from './clock.ts';
import { startDeviceLogin, type Wait } from './device-login.ts';
import { LatchkeyError } from './errors.ts';
import type { Fetch } from './transport.ts';

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error) => (error instanceof LatchkeyError ? error.code : error),
  );

/** A machine whose clock runs `speed` times as fast as the service's. */
const clockAtSpeed = (service: TestApp, speed: number): Clock => ({
  now: () => service.ctx.clock() * speed,
  sleep: async (milliseconds) => service.pass(milliseconds / 1000 / speed),
});

const outcomesOf = (service: TestApp): string[] =>
  service.logs
    .map((line) => JSON.parse(line))
    .filter(({ route }) => route === '/api/v1/auth/token')
    .map(({ outcome }) => outcome);

const approve = async (service: TestApp, userCode: string, decision: 'approve' | 'deny' = 'approve') => {
  const { access_token } = await service.login();
  const answer = await service.ask('POST', `/device/${decision}`, {
    json: { user_code: userCode },
    token: access_token,
  });
  expect(answer.status).toBe(204);
};

onBothDatabases('device login by the SDK', (open) => {
  test('the first poll comes after 1.2 intervals, and every further one as long after the last', async () => {
    const service = await open();
    const login = await startDeviceLogin(apiOf(service), { clock: clockOf(service), deviceName: 'den' });
    const polls = outcomesOf(service);
    const waits: Wait[] = [];
    const started = service.ctx.clock();
    const tokens = await login.tokens({
      onWait: (wait) => {
        expect(outcomesOf(service)).toHaveLength(waits.length);
        waits.push(wait);
        if (waits.length === 4) return approve(service, login.userCode);
      },
    });
    expect(polls).toEqual([]);
    expect(waits.map(({ seconds }) => seconds)).toEqual([6, 6, 6, 6]);
    expect(waits.map(({ because }) => because)).toEqual([
      undefined,
      ...Array(3).fill('authorization_pending'),
    ]);
    expect(service.ctx.clock() - started).toBeGreaterThanOrEqual(24_000);
    expect((await service.ask('GET', '/me', { token: tokens.access_token })).status).toBe(200);
    await service.close();
  });
});
