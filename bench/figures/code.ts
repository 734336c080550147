// What signing in to an application costs, from the approval to the answer with an identity token: two requests of a browser and an
// application, beside the same two of oidc-provider.

import { createHash } from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { concurrently } from '../support/concurrently.ts';
import type { LoadRequest } from '../support/load-request.ts';
import { cpuSeconds, cpuSecondsOfFamily } from '../support/processes.ts';
import { type Figure, type Measurement, number } from '../support/report.ts';
import { median, runRounds, type Sample, type Side } from '../support/rounds.ts';
import type { RunningServer } from '../support/service.ts';
import { addLinks, browser } from '../table/people.ts';
import { applicationUri, openSides } from '../table/sides.ts';

const sessions = 10_000;
const people = 200;
/** As many logins a round as there are people, this many at a time. */
const atATime = 16;
const rounds = { counted: 5, warmUps: 3 };
const signatures = 2_000;

const verifier = 'v'.repeat(43);
const request = {
  response_type: 'code',
  redirect_uri: applicationUri,
  scope: 'openid',
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};

async function redeem(address: string, authorization: string, location: string): Promise<void> {
  const code = new URL(location).searchParams.get('code') ?? '';
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: applicationUri,
    code_verifier: verifier,
  };
  const headers = { Authorization: authorization };
  const answer = await fetch(address, { method: 'POST', headers, body: new URLSearchParams(form) });
  if (!(await answer.text()).includes('"id_token"')) throw new Error(`${address} answered ${answer.status}`);
}

/** CPU time of one signature of an identity token, in microseconds. */
async function signatureMicros(): Promise<number> {
  const { privateKey } = await generateKeyPair('RS256');
  const sign = () => new SignJWT({ sub: 'usr_' }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  await concurrently(atATime, signatures, sign);
  const before = process.cpuUsage();
  await concurrently(atATime, signatures, sign);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / signatures;
}

async function measure(dialect: Dialect): Promise<Measurement> {
  const { service, servicePlace, peers, families, stop } = await openSides(dialect, {
    sessions,
    peers: ['oidc-provider'],
  });
  const sideOf = (name: string, { pid }: RunningServer, login: (person: number) => Promise<void>): Side => ({
    name,
    run: async () => {
      const spent = () => [cpuSeconds(pid), families.reduce((sum, one) => sum + cpuSecondsOfFamily(one), 0)];
      const [started, before] = [performance.now(), spent()];
      await concurrently(atATime, people, login);
      const [own = 0, database = 0] = spent().map((seconds, index) => seconds - before[index]!);
      const seconds = (performance.now() - started) / 1000;
      return { count: people, seconds, cpuSeconds: own, databaseCpuSeconds: database };
    },
  });

  const api = `${service.url}/api/v1/auth`;
  const post = async (path: string, body: object, headers = {}) => {
    const init = { method: 'POST', headers: { ...browser, ...headers }, body: JSON.stringify(body) };
    return (await (await fetch(api + path, init)).json()) as Record<string, string>;
  };
  const { db, keys, service: authorization } = servicePlace;
  const links = await db.transaction((tx) => addLinks(tx, keys, Array(people).keys()));
  const tokens = await Promise.all(links.map((token) => post('/magic_link/verify', { token })));
  const [client_id = ''] = atob(authorization.slice('Basic '.length)).split(':');
  const ours = sideOf('Latchkey', service, async (person) => {
    const headers = { Authorization: `Bearer ${tokens[person]?.['access_token']}` };
    const { redirect = '' } = await post('/authorize/approve', { ...request, client_id }, headers);
    await redeem(`${api}/token`, authorization, redirect);
  });

  const peer = peers.get('oidc-provider')!;
  const prepared = await fetch(`${peer.url}/bench/authorize?count=${people}`);
  const { requests } = (await prepared.json()) as { requests: LoadRequest[] };
  const query = new URLSearchParams({ ...request, client_id: 'app' });
  const theirs = sideOf('oidc-provider', peer, async (person) => {
    const { path, ...init } = requests[person]!;
    const answer = await fetch(`${peer.url}${path}?${query}`, { ...init, redirect: 'manual' });
    const key = btoa(`app:${encodeURIComponent('the secret of a service')}`);
    await redeem(`${peer.url}/token`, `Basic ${key}`, answer.headers.get('Location') ?? '');
  });

  const samples = await runRounds([ours, theirs], rounds);
  await stop();
  const micros = (list: readonly Sample[], seconds: (sample: Sample) => number) =>
    number(median(list.map((sample) => (seconds(sample) / sample.count) * 1e6)));
  return {
    what: `From an approval to an identity token, ${dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    details: [
      ...[...samples].map(([name, list]) => {
        const database = micros(list, ({ databaseCpuSeconds = 0 }) => databaseCpuSeconds);
        return `${name}: ${micros(list, (sample) => sample.cpuSeconds)} us CPU and ${database} us of the database`;
      }),
      `of each, the RSA signature: ${number(await signatureMicros())} us`,
    ],
  };
}

export const code: Figure = {
  name: 'code',
  run: async () => [await measure('sqlite'), await measure('postgres')],
};
