// Many programs on one agent, through kills of the agent and of the service.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { latchkey, newHome, type RunningAgent, startAgent, storeLogin, storeOf } from '#support/cli.ts';
import { storedSession } from '#support/client.ts';
import { refreshesDuring, refreshesSoFar } from '#support/http.ts';
import { isLong } from '#support/long.ts';
import { isInMemory, surroundingsOf } from '#support/memory.ts';
import { reservePort } from '#support/reserved-port.ts';
import { startService, temporaryDirectory } from '#support/service.ts';
import { startWorker } from '#support/worker.ts';

const programs = isLong ? 50 : 15;
const email = 'ada@agent.example';
const refreshToken = 'lk_rt_';

test.skipIf(process.platform !== 'linux')(
  `${programs} programs on one agent survive kills of agent and service, and never see a refresh token`,
  async () => {
    // It starts again at its address.
    const env = { PORT: String(reservePort()) };
    let service = await startService({ env });
    const home = newHome({ LATCHKEY_SERVER: service.url });
    await storeLogin(home, service.url, email);
    const store = storeOf(home, service.url);
    const sandbox = temporaryDirectory();
    const socket = join(sandbox, 'agent');
    let agent: RunningAgent;
    const start = async () => {
      agent = await startAgent(home, '--scope', 'profile');
      rmSync(socket, { force: true });
      symlinkSync(agent.address, socket);
    };
    await start();
    const surroundings = [
      'env',
      `LATCHKEY_AGENT=${socket}`,
      `LATCHKEY_SERVER=${service.url}`,
      `HOME=${sandbox}`,
    ];
    const workers = Array.from({ length: programs }, () =>
      startWorker([...surroundings, process.execPath], 'agent-client-worker.ts'),
    );
    expect(await Promise.all(workers.map((worker) => worker.hear()))).toEqual(workers.map(() => 'ready'));

    const expire = async () => {
      const login = await storedSession(store);
      await store.replace(login, { ...login, access_token_expires_at: Date.now() - 1 });
    };
    const askAll = () => Promise.all(workers.map((worker) => worker.ask('go')));
    const allOk = workers.map(() => 'ok');

    const refreshAll = async () => {
      await expire();
      expect(await askAll()).toEqual(allOk);
    };
    expect(await refreshesDuring(service.url, refreshAll)).toEqual({ rotated: 1, retry: 0 });

    /** Kills something while everyone waits for the same refresh, and starts it again. */
    const interrupt = async (kill: () => Promise<unknown>, restart: () => Promise<unknown>) => {
      await expire();
      const asked = askAll();
      await kill();
      const outcomes = await asked;
      expect(outcomes.filter((outcome) => !/^(ok|unreachable|timeout|aborted)$/.test(outcome))).toEqual([]);
      await restart();
      expect(await askAll()).toEqual(allOk);
    };
    const { retry, ...others } = await refreshesDuring(service.url, () =>
      interrupt(() => agent.stop('SIGKILL'), start),
    );
    expect([others, retry! <= 1]).toEqual([{ rotated: 1 }, true]);

    await interrupt(
      () => service.kill(),
      async () => {
        service = await startService({ directory: service.directory, env });
      },
    );
    const again = await refreshesSoFar(service.url);
    expect([again['rotated']! + again['retry']! <= 2, again['theft']]).toEqual([true, 0]);

    for (const { pid } of workers) {
      expect(surroundingsOf(pid)).not.toContain(refreshToken);
      expect(isInMemory(pid, refreshToken)).toBe(false);
    }
    expect(surroundingsOf(agent!.pid)).not.toContain(refreshToken);
    // The search finds what is there.
    expect(isInMemory(agent!.pid, refreshToken)).toBe(true);
    expect(isInMemory(workers[0]!.pid, 'lk_at_')).toBe(true);
    for (const name of readdirSync(sandbox, { recursive: true, encoding: 'utf8' })) {
      const path = join(sandbox, name);
      if (statSync(path).isFile()) expect(readFileSync(path, 'latin1')).not.toContain(refreshToken);
    }

    for (const worker of workers) expect(await worker.finish()).toBe('');
    await agent!.stop();
    expect((await latchkey(home, 'whoami')).stdout).toContain(email);
    const { access_token: token } = await storedSession(store);
    const { body } = await service.ask('GET', '/events?limit=100', { token });
    expect(body.events.map(({ type }: { type: string }) => type)).not.toContain('refresh_theft');
  },
);
