// Signing in from the command line: which sessions exist afterwards, and what Ctrl-C leaves behind.

import { describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  approving,
  expireAccessToken,
  type Home,
  latchkey,
  loginAs,
  newHome,
  program,
  proxyTo,
  type Running,
  runIn,
  sessionsOf,
  storeLogin,
  storeOf,
  userCodeIn,
} from '#support/cli.ts';
import { service } from '#support/common-service.ts';
import { newAddress } from '#support/people.ts';
import { refuses } from '#support/responses.ts';
import { withoutRootsPowers } from '#support/worker.ts';

test('a session that cannot be stored is ended at the server, and the former one stays', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  await storeLogin(home, service.url, 'unstored@example.com');
  const before = await storeOf(home, service.url).read();
  const { code, stderr } = await approving(service.url, 'unstored@example.com', (onStderr) =>
    runIn(home, [...withoutRootsPowers, program, 'login'], (text) => {
      if (userCodeIn(text)) chmodSync(dirname(home.credentialsFile), 0o500);
      onStderr(text);
    }),
  );
  chmodSync(dirname(home.credentialsFile), 0o700);
  expect(code).toBe(4);
  expect(stderr).toContain('permission denied');
  expect(await storeOf(home, service.url).read()).toEqual(before);
  expect(await sessionsOf(service.url, 'unstored@example.com', 'device')).toHaveLength(1);
  expect((await latchkey(home, 'whoami')).code).toBe(0);
});

test('a login succeeds even if the server does not say who signed in', async () => {
  const shaky = proxyTo(service, (_, path, forward) =>
    path.endsWith('/me') ? new Response(null, { status: 503 }) : forward(),
  );
  const home = newHome({ LATCHKEY_SERVER: shaky.url });
  const { code, stdout, stderr } = await loginAs(home, service.url, 'shaky@example.com');
  expect({ code, stdout }).toEqual({ code: 0, stdout: `Signed in to ${shaky.url}.\n` });
  expect(stderr).toContain('Run `latchkey whoami` to ask again.');
  const token = (await latchkey(home, 'token')).stdout.trim();
  expect((await service.ask('GET', '/me', { token })).body.email).toBe('shaky@example.com');
});

test('a server without sign-ins by code says to use a browser', async () => {
  const off = proxyTo(service, (_, path, forward) =>
    path.endsWith('/device') ? refuses('unauthorized_client', 403) : forward(),
  );
  const { code, stderr } = await latchkey(newHome({ LATCHKEY_SERVER: off.url }), 'login');
  expect([code, stderr]).toEqual([1, expect.stringContaining('`latchkey login --port NUMBER`')]);
});

describe('Ctrl-C', () => {
  /**
   * A proxy to the service that interrupts the running command when the first successful response of `path` is due. It
   * holds that response and all later ones of the path until the command has ended.
   */
  function interrupter(path: string, unanswered: readonly string[] = []) {
    let child: Running | undefined;
    let isInterrupted = false;
    const ended = Promise.withResolvers<void>();
    const proxy = proxyTo(service, async (_, pathname, forward) => {
      if (unanswered.some((end) => pathname.endsWith(end))) await ended.promise;
      const response = await forward();
      if (child && response.ok && pathname.endsWith(path)) {
        if (!isInterrupted) child.kill('SIGINT');
        isInterrupted = true;
        await ended.promise;
      }
      return response;
    });
    return {
      ...proxy,
      run: async (home: Home, args: string[], email?: string) => {
        const outcome = await approving(service.url, email, (onStderr) =>
          runIn(home, [program, ...args], (stderr, running) => {
            child = running;
            onStderr(stderr);
          }),
        );
        child = undefined;
        ended.resolve();
        return outcome;
      },
    };
  }

  test.each<[signals: NodeJS.Signals[]]>([
    [['SIGINT']],
    [['SIGTERM']],
    [['SIGHUP']],
    // As when a terminal closes.
    [['SIGHUP', 'SIGTERM', 'SIGINT']],
  ])('%j leaves no code that can still be approved', async (signals) => {
    const home = newHome({ LATCHKEY_SERVER: service.url });
    const { access_token: token } = await service.login('late@example.com');
    const { code, stderr } = await runIn(home, [program, 'login'], (text, running) => {
      if (text.endsWith('Waiting for your approval.\n')) for (const signal of signals) running.kill(signal);
    });
    expect(code).toBe(130);
    expect(stderr).toEndWith('latchkey: Login cancelled. Nothing was changed.\n');
    const json = { user_code: userCodeIn(stderr) };
    const { status, body } = await service.ask('POST', '/device/approve', { json, token });
    expect([status, body.error]).toEqual([400, 'invalid_grant']);
  });

  test.each([
    ['ends the new session', [], '. Nothing was changed.'],
    [
      'says what may be left if the server does not respond to that either',
      ['/revoke'],
      ', but the server does not respond. Do not approve it; if you already have, look for the new session with `latchkey sessions`.',
    ],
  ])('in a login whose last poll gets no response %s', async (_, unanswered, says) => {
    const proxy = interrupter('/token', unanswered);
    const home = newHome({ LATCHKEY_SERVER: proxy.url });
    const email = newAddress();
    const { code, stderr } = await proxy.run(home, ['login'], email);
    expect(code).toBe(130);
    expect(stderr).toEndWith(`latchkey: Login cancelled${says}\n`);
    expect(await storeOf(home, proxy.url).read()).toBeNull();
    if (unanswered.length === 0) expect(await sessionsOf(service.url, email, 'device')).toEqual([]);
  });

  test('during a refresh says so, and the next command completes the refresh', async () => {
    const proxy = interrupter('/refresh');
    const home = newHome({ LATCHKEY_SERVER: proxy.url });
    await storeLogin(home, service.url, 'refreshing@example.com', proxy.url);
    await expireAccessToken(home, proxy.url);
    const { code, stderr } = await proxy.run(home, ['token']);
    expect(code).toBe(130);
    expect(stderr).toBe(
      'latchkey: Cancelled while your session was being refreshed. A later command completes that; after 10 minutes, you may have to sign in again.\n',
    );
    expect((await latchkey(home, 'whoami')).stdout).toContain('refreshing@example.com');
  });
});
