// Transcripts of the command line: what a person types, and everything that the commands print. A file contains
//
//   # a comment
//   @ login ada@example.com         a precondition, see `preparations`
//   $ latchkey whoami | cat         a shell command
//   > a line on standard output
//   ! a line on standard error
//   = 0                             the exit status
//
// The commands are run, and the result is written in the same format, with volatile parts replaced.

import type { NewKey } from '@latchkey/contract/keys';
import { newPasskey } from './account.ts';
import {
  addCommand,
  decide,
  deviceLogin,
  expireAccessToken,
  newHome,
  runHere,
  runIn,
  startAgent,
  storeLogin,
} from './cli.ts';
import { githubClaims } from './issuer.ts';
import type { Scene } from './scene.ts';
import { type Outcome, runOperator } from './service.ts';
import { withoutRootsPowers } from './worker.ts';

/** Runs the commands of a transcript; returns the transcript of what they do now. */
export async function play(
  transcript: string,
  { addresses, service, issuer }: Pick<Scene, 'addresses' | 'service' | 'issuer'>,
): Promise<string> {
  const home = newHome({ ...addresses, LATCHKEY_SERVER: service.url });
  addCommand(home, 'limited', `#!/bin/sh\nexec ${withoutRootsPowers.join(' ')} "$@"\n`);
  let env: Readonly<Record<string, string>> = home.env;
  let decision: { verb: 'approve' | 'deny'; email: string } | undefined;
  let last: Outcome = { code: 0, stdout: '', stderr: '' };

  const addressOf = (name: string | undefined) => addresses[name ?? 'SERVER'] ?? name ?? '';
  const createKey = async (
    email: string,
    wants: { name: string; scope: string[]; trust?: NewKey['trust'] },
  ) => {
    const { access_token: accessToken } = await service.login(email);
    const body = { ...wants, scope: wants.scope.join(' '), expires_in: 86_400 };
    return service.api.call('createKey', { accessToken, body });
  };
  const preparations: Record<string, (...words: string[]) => unknown> = {
    /** `login ADDRESS [SERVER [STORED-FOR]]`: stores a login; STORED-FOR may also be an address. */
    login: (email = '', name = 'SERVER', storedFor = name) =>
      storeLogin(home, addressOf(name), email, addressOf(storedFor)),
    /** Signs the same account in on another device. */
    'login-elsewhere': (email = '', device = '') => deviceLogin(service.url, email, device),
    /** Who decides on the device logins that commands start. */
    approver: (email = '') => {
      decision = { verb: 'approve', email };
    },
    denier: (email = '') => {
      decision = { verb: 'deny', email };
    },
    'access-token-runs-out': (name = 'SERVER') => expireAccessToken(home, addressOf(name)),
    operator: async (...args) => {
      last = await runOperator(service.env, ...args);
      if (last.code !== 0) throw new Error(last.stderr);
    },
    passkey: async (email = '') => void (await newPasskey(service, await service.login(email))),
    /** `remember NAME PATTERN`: keeps a match in the last output as a variable for later commands. */
    remember: (name = '', pattern = '') => {
      env = { ...env, [name]: new RegExp(pattern).exec(last.stdout)?.[0] ?? '' };
    },
    /** `browser-token NAME ADDRESS`: keeps the access token of a recent sign-in as a variable. */
    'browser-token': async (name = '', email = '') => {
      env = { ...env, [name]: (await service.login(email)).access_token };
    },
    /** `key NAME ADDRESS SCOPE…`: creates a key and keeps it as a variable. */
    key: async (name = '', email = '', ...scope) => {
      const { key = '' } = await createKey(email, { name, scope });
      env = { ...env, [name]: key };
    },
    /** `job-key NAME ADDRESS SCOPE…`: creates a key for jobs of the main branch, and keeps its ID as a variable. */
    'job-key': async (name = '', email = '', ...scope) => {
      const { sub, ref } = githubClaims('');
      const { id } = await createKey(email, {
        name,
        scope,
        trust: { issuer: issuer.url, claims: { sub: String(sub), ref: String(ref) } },
      });
      env = { ...env, [name]: id };
    },
    /** `job REF`: lets the commands after it be a job on GitHub for this ref. */
    job: (ref) => {
      env = { ...env, ...issuer.job((audience) => githubClaims(audience, { ref })) };
    },
    /** `assertion NAME REF`: keeps the token of such a job as a variable. */
    assertion: async (name = '', ref = '') => {
      env = { ...env, [name]: await issuer.sign(githubClaims(service.url, { ref })) };
    },
    /** `agent OPTION…`: starts an agent, which the commands after it use. */
    agent: async (...options) => {
      const { address, forwards } = await startAgent(home, ...options);
      env = { ...env, LATCHKEY_AGENT: address, ...forwards };
    },
    wait: (seconds) => Bun.sleep(Number(seconds) * 1000),
  };

  const written: string[] = [];
  let hasRun = false;
  for (const line of transcript.split('\n')) {
    if (/^[>!=]/.test(line)) continue;
    written.push(line);
    const [mark, name = '', ...words] = [...line.matchAll(/(?:'[^']*'|[^ '])+/g)].map(([word]) =>
      word.replaceAll("'", '').replace(/\$([A-Z]+)/g, (_, variable: string) => env[variable] ?? ''),
    );
    if (mark === '@') {
      const prepare = preparations[name];
      if (!prepare) throw new Error(`no such preparation: ${line}`);
      await prepare(...words);
    }
    if (mark !== '$') continue;
    let decided: Promise<void> | undefined;
    const decideOn = (stderr: string) => {
      const code = /\b[A-Z]{4}-[A-Z]{4}\b/.exec(stderr)?.[0];
      if (code && decision) decided ??= decide(service.url, code, decision.email, decision.verb);
    };
    const call = simpleCall(line.slice(2), env);
    // The first one is a process, so that each command has run as one.
    last =
      call && hasRun
        ? await runHere({ env: call.env }, call.args, decideOn)
        : await runIn({ ...home, env }, ['bash', '-c', line.slice(2)], decideOn);
    hasRun = true;
    await decided;
    const quoted = (lead: string, text: string) =>
      text === ''
        ? []
        : settled(text, home.path, addresses)
            .trimEnd()
            .split('\n')
            .map((outputLine) => `${lead} ${outputLine}`.trimEnd());
    written.push(...quoted('>', last.stdout), ...quoted('!', last.stderr), `= ${last.code}`);
  }
  return written.join('\n');
}

/** A call of the program with nothing else that the shell does: `NAME=value latchkey WORD…`. Words may be quoted, and name variables. */
function simpleCall(line: string, env: Readonly<Record<string, string>>) {
  const word = /(?:[\w./:@,=%+-]|'[^']*'|"\$[A-Z_]+"|\$[A-Z_]+)+/.source;
  const [, assignments = '', args] =
    new RegExp(`^((?:[A-Z_]+=(?:${word})? )*)latchkey((?: ${word})*)$`).exec(line) ?? [];
  if (args === undefined) return undefined;
  const words = (text: string) =>
    [...text.matchAll(new RegExp(word, 'g'))].map(([found]) =>
      found.replace(
        /'([^']*)'|"?\$([A-Z_]+)"?/g,
        (_, quoted?: string, name = '') => quoted ?? env[name] ?? '',
      ),
    );
  const assigned = words(assignments).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { args: words(args), env: { ...env, ...Object.fromEntries(assigned) } };
}

/** Replaces everything that varies between runs, including the gaps in tables, which depend on the cells. */
function settled(text: string, home: string, addresses: Readonly<Record<string, string>>): string {
  let result = text.replaceAll(home, 'HOME');
  for (const [name, address] of Object.entries(addresses)) result = result.replaceAll(address, name);
  return result
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME')
    .replace(/\b(usr|ses|pk|org|key)_[\w-]+/g, '$1_ID')
    .replace(/\blk_(at|ak)_[\w-]+/g, 'lk_$1_TOKEN')
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
