import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { createApi } from '@latchkey/client/api';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { startDeviceLogin } from '@latchkey/client/device-login';
import { LatchkeyError } from '@latchkey/client/errors';
import { fileStorage } from '@latchkey/client/file-storage';
import { openSession } from '@latchkey/client/session';

const { LATCHKEY_SERVER = 'http://localhost:8787', PROJECTS = 'http://localhost:3000' } = process.env;
const api = createApi({ server: LATCHKEY_SERVER, userAgent: 'projects/1.0' });
const file = fileStorage(join(homedir(), '.config', 'projects', 'credentials.json'));
const store = credentialStore(file, api.server);
const session = openSession({ api, store, origins: [PROJECTS] });

async function login() {
  const login = await startDeviceLogin(api, { clientName: 'Projects', deviceName: hostname() });
  console.error(`Open ${login.verificationUriComplete} and compare the code:\n${login.userCode}`);
  const tokens = await login.tokens();
  const { id, email = '' } = await api.call('getProfile', { accessToken: tokens.access_token });
  const logged_in_at = new Date().toISOString();
  await store.put({
    server: api.server,
    user: { id, email },
    logged_in_at,
    ...tokenMembers(tokens, Date.now()),
  });
  console.log(`Signed in as ${email}`);
}

async function list() {
  const response = await session.fetch(`${PROJECTS}/projects`);
  console.log(response.status, await response.text());
}

const commands = { login, list, logout: () => session.logout() };
const command = commands[process.argv[2] as keyof typeof commands];
if (!command) throw new Error(`Usage: projects ${Object.keys(commands).join('|')}`);
await command().catch((error) => {
  if (!(error instanceof LatchkeyError)) throw error;
  console.error(error.code === 'not_logged_in' ? 'Sign in first: projects login' : error.message);
  process.exitCode = error.retryable ? 4 : 1;
});
