// The command line as a person has it: the program itself in a home of its own, against a real service.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CredentialStore, credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import type { TokenSet } from '@latchkey/contract/tokens';
import { spawn } from 'bun';
import { endAtExit, hasEnded } from './cleanup.ts';
import { loginByMail, request } from './http.ts';
import { temporaryDirectory } from './service.ts';

export const program = join(import.meta.dir, '../../packages/cli/bin/latchkey');

/** A command that takes longer hangs. */
const commandLimitMilliseconds = 20_000;

export interface Home {
  readonly path: string;
  readonly credentialsFile: string;
  /** What the program is run with; nothing else of this process's environment reaches it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A person's home without anything in it, and `latchkey` on the path. */
export function newHome(env: Readonly<Record<string, string>> = {}): Home {
  const path = temporaryDirectory();
  const bin = join(temporaryDirectory(), 'bin');
  mkdirSync(bin);
  symlinkSync(program, join(bin, 'latchkey'));
  return {
    path,
    credentialsFile: join(path, '.config', 'latchkey', 'credentials.json'),
    env: {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: path,
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      // Nothing of a test belongs into the keychain of whoever runs it.
      LATCHKEY_CREDENTIALS: 'file',
      ...env,
    },
  };
}

/** Runs a command in this home to its end. `onStderr` hears what has come there so far, each time more comes. */
export async function runIn(
  home: Home,
  command: readonly string[],
  onStderr: (text: string) => void = () => {},
): Promise<Outcome> {
  const child = spawn([...command], {
    cwd: home.path,
    env: home.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: commandLimitMilliseconds,
  });
  endAtExit(child.pid);
  const read = async () => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      text += decoder.decode(chunk, { stream: true });
      onStderr(text);
    }
    return text;
  };
  const [stdout, stderr, code] = await Promise.all([new Response(child.stdout).text(), read(), child.exited]);
  hasEnded(child.pid);
  return { code, stdout, stderr };
}

export const latchkey = (home: Home, ...args: string[]): Promise<Outcome> => runIn(home, [program, ...args]);

/** Decides on a device login as a person would who has signed in by mail. */
export async function decide(
  url: string,
  userCode: string,
  email: string,
  decision: 'approve' | 'deny' = 'approve',
): Promise<void> {
  const { access_token } = await loginByMail(url, email);
  const ask = { json: { user_code: userCode }, token: access_token };
  const { status } = await request(url, 'POST', `/device/${decision}`, ask);
  if (status !== 204) throw new Error(`${decision}: ${status}`);
}

/** A device login from beginning to end, without the program. */
export async function deviceLogin(url: string, email: string, deviceName: string): Promise<TokenSet> {
  const asked = { json: { client_name: 'Latchkey CLI', device_name: deviceName } };
  const { body: started } = await request(url, 'POST', '/device', asked);
  await decide(url, started.user_code, email);
  const { status, body } = await request(url, 'POST', '/token', {
    json: { device_code: started.device_code },
  });
  if (status !== 200) throw new Error(`token: ${status}`);
  return body;
}

/** Where the program keeps this home's login for a server. */
export const storeOf = (home: Home, server: string): CredentialStore =>
  credentialStore(fileStorage(home.credentialsFile), server);

/** Puts a login into a home as the program would. `server`: the address it is for, if not the service's own. */
export async function storeLogin(home: Home, url: string, email: string, server = url): Promise<void> {
  const tokens = await deviceLogin(url, email, 'laptop');
  const { body: user } = await request(url, 'GET', '/me', { token: tokens.access_token });
  await storeOf(home, server).put({
    server,
    user: { id: user.id, email: user.email },
    logged_in_at: new Date().toISOString(),
    ...tokenMembers(tokens, Date.now()),
  });
}

/** Makes the stored access token look as if it had run out. */
export async function expireAccessToken(home: Home, server: string): Promise<void> {
  const store = storeOf(home, server);
  const login = await store.read();
  if (!login) throw new Error(`no login for ${server}`);
  await store.put({ ...login, access_token_expires_at: 1 });
}

/** Puts a small program onto the path of a home. */
export function addCommand(home: Home, name: string, script: string): void {
  const [bin = ''] = (home.env['PATH'] ?? '').split(':');
  writeFileSync(join(bin, name), script, { mode: 0o755 });
}
