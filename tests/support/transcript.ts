// Transcripts of the command line: what a person types, and all that comes of it. A file holds
//
//   # words for the reader
//   @ login ada@example.com         what has to be there or to happen first, see `preparations`
//   $ latchkey whoami | cat         a command, as the shell takes it
//   > a line on standard output
//   ! a line on standard error
//   = 0                             the exit status
//
// It is run, and what comes of it is written down in the same way, with volatile parts replaced.

import { createAuthenticator } from './authenticator.ts';
import {
  addCommand,
  decide,
  deviceLogin,
  expireAccessToken,
  newHome,
  type Outcome,
  runIn,
  storeLogin,
} from './cli.ts';
import { loginByMail, request } from './http.ts';
import { runOperator, type TestService } from './service.ts';
import { withoutRootsPowers } from './worker.ts';

/** Servers by the name that transcripts know them by: `$SERVER` in a command, and in what is written down. */
export interface Servers {
  readonly addresses: Readonly<Record<string, string>>;
  readonly service: TestService;
}

/** The transcript of what really happens. */
export async function play(transcript: string, { addresses, service }: Servers): Promise<string> {
  const home = newHome({ ...addresses, LATCHKEY_SERVER: service.url });
  addCommand(home, 'limited', `#!/bin/sh\nexec ${withoutRootsPowers.join(' ')} "$@"\n`);
  let env: Readonly<Record<string, string>> = home.env;
  let decision: { verb: 'approve' | 'deny'; email: string } | undefined;
  let last: Outcome = { code: 0, stdout: '', stderr: '' };

  const addressOf = (name: string | undefined) => addresses[name ?? 'SERVER'] ?? name ?? '';
  const preparations: Record<string, (...words: string[]) => unknown> = {
    /** `login ADDRESS [SERVER [STORED-FOR]]`: a login is there; STORED-FOR may be an address, too. */
    login: (email = '', name = 'SERVER', storedFor = name) =>
      storeLogin(home, addressOf(name), email, addressOf(storedFor)),
    /** The same person on another device. */
    'login-elsewhere': (email = '', device = '') => deviceLogin(service.url, email, device),
    /** Who will decide on the logins that are asked for. */
    approver: (email = '') => {
      decision = { verb: 'approve', email };
    },
    denier: (email = '') => {
      decision = { verb: 'deny', email };
    },
    'access-token-runs-out': (name = 'SERVER') => expireAccessToken(home, addressOf(name)),
    operator: async (...args) => {
      const { code, stderr } = await runOperator(service.env, ...args);
      if (code !== 0) throw new Error(stderr);
    },
    passkey: (email = '') => addPasskey(service.url, email),
    /** `remember NAME PATTERN`: what the last command printed, for the next ones. */
    remember: (name = '', pattern = '') => {
      env = { ...env, [name]: new RegExp(pattern).exec(last.stdout)?.[0] ?? '' };
    },
    wait: (seconds) => Bun.sleep(Number(seconds) * 1000),
  };

  const written: string[] = [];
  for (const line of transcript.split('\n')) {
    if (/^[>!=]/.test(line)) continue;
    written.push(line);
    const [mark, name = '', ...words] = line.split(' ');
    if (mark === '@') {
      const prepare = preparations[name];
      if (!prepare) throw new Error(`no such preparation: ${line}`);
      await prepare(...words);
    }
    if (mark !== '$') continue;
    let decided: Promise<void> | undefined;
    last = await runIn({ ...home, env }, ['bash', '-c', line.slice(2)], (stderr) => {
      const code = /\b[A-Z]{4}-[A-Z]{4}\b/.exec(stderr)?.[0];
      if (code && decision) decided ??= decide(service.url, code, decision.email, decision.verb);
    });
    await decided;
    const told = (lead: string, text: string) =>
      text === ''
        ? []
        : settled(text, home.path, addresses)
            .trimEnd()
            .split('\n')
            .map((one) => `${lead} ${one}`.trimEnd());
    written.push(...told('>', last.stdout), ...told('!', last.stderr), `= ${last.code}`);
  }
  return written.join('\n');
}

/** The same text whenever and wherever it is written: gaps in tables too, since they depend on the cells. */
function settled(text: string, home: string, addresses: Readonly<Record<string, string>>): string {
  let result = text.replaceAll(home, 'HOME');
  for (const [name, address] of Object.entries(addresses)) result = result.replaceAll(address, name);
  return result
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME')
    .replace(/\b(usr|ses|pk|org)_[\w-]+/g, '$1_ID')
    .replace(/\blk_at_[\w-]+/g, 'lk_at_TOKEN')
    .replace(/\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b/g, 'BCDF-GHJK')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'REQUEST')
    .replace(/("request_id":\s*)"[^"]*"/g, '$1"REQUEST"')
    .replace(/("credential_id":\s*)"[^"]*"/g, '$1"CREDENTIAL"')
    .replace(/("latency_milliseconds":\s*)\d+/g, '$1N')
    .replace(/("difference_seconds":\s*)-?[012]\b/g, '$1N')
    .replace(/\b(ada-)[0-9a-f]{8}\b/g, '$1SUFFIX')
    .replace(/\bBun\/[\d.]+/g, 'Bun/VERSION')
    .replace(/answers in \d+ ms/g, 'answers in N ms')
    .replace(/("expires_in":\s*)143\d\d/g, '$1SECONDS')
    .replace(/Bun \d+\.\d+\.\d+/g, 'Bun VERSION')
    .replace(/("bun":\s*)"[^"]*"/g, '$1"VERSION"')
    .replace(/(linux|darwin) (x64|arm64)/g, 'PLATFORM')
    .replace(/(\S) {3,}/g, '$1  ');
}

async function addPasskey(url: string, email: string): Promise<void> {
  const { access_token: token } = await loginByMail(url, email);
  const { body: options } = await request(url, 'POST', '/passkey/register/challenge', { token });
  const json = createAuthenticator({ origin: url }).create(options);
  const { status } = await request(url, 'POST', '/passkey/register', { token, json });
  if (status !== 201) throw new Error(`passkey: ${status}`);
}
