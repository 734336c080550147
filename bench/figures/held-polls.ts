// Polls that wait for the decision of a user: what they cost, and how long the tokens take after the approval.

import { connect, type Socket } from 'node:net';
import { generateKey } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { loginByMail, request } from '../../tests/support/http.ts';
import { memoryOf } from '../support/processes.ts';
import type { Figure } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { startService } from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';

const polls = 5_000;
const atOnce = 100;
const approvals = 50;
const settleMs = 1_000;

const start = async (url: string): Promise<{ device_code: string; user_code: string }> =>
  (await request(url, 'POST', '/device')).body;

/** Sends a poll over a connection of its own. */
function hold(url: string, device_code: string): Promise<Socket> {
  const body = JSON.stringify({ device_code });
  const head = `POST /api/v1/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nPrefer: wait=25`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', reject);
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, () => resolve(socket));
  });
}

async function inTurn<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  while (done.length < count) done.push(...(await Promise.all(Array.from({ length: atOnce }, work))));
  return done;
}

/** Milliseconds from sending the approval to receiving the tokens. */
async function approvalToTokens(url: string, token: string): Promise<number> {
  const { device_code, user_code } = await start(url);
  const socket = await hold(url, device_code);
  const received = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  await Bun.sleep(settleMs / 10);
  const startedAt = performance.now();
  await request(url, 'POST', '/device/approve', { token, json: { user_code } });
  if (!(await received).startsWith('HTTP/1.1 200')) throw new Error('a held poll got no tokens');
  const elapsed = performance.now() - startedAt;
  socket.destroy();
  return elapsed;
}

export const heldPolls: Figure = {
  name: 'held-polls',
  run: async () => {
    const server = await startService({
      databaseUrl: sqliteUrl(),
      keys: generateKey(),
    });
    const codes = (await inTurn(polls, () => start(server.url))).map(({ device_code }) => device_code);
    const again = [...codes];
    // As many plain requests first, so that only the waiting is measured.
    await inTurn(polls, () => start(server.url));
    await Bun.sleep(settleMs);
    const before = memoryOf(server.pid);
    const sockets = await inTurn(polls, () => hold(server.url, again.pop()!));
    await Bun.sleep(settleMs);
    const held = memoryOf(server.pid);
    for (const socket of sockets) socket.destroy();
    const { access_token } = await loginByMail(server.url, 'ada@example.com');
    const times: number[] = [];
    while (times.length < approvals) times.push(await approvalToTokens(server.url, access_token));
    await server.stop();
    return [
      {
        what: `Memory of ${polls.toLocaleString('en')} held polls, SQLite`,
        value: (held.resident - before.resident) / 1e6,
        unit: 'MB',
        promise: { atMost: 60 },
        details: [`from approval to tokens: median ${median(times).toFixed(1)} ms of ${approvals}`],
      },
    ];
  },
};
