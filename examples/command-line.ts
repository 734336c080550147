import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { createApi } from '@latchkey/client/api';
import { credentialStore } from '@latchkey/client/credentials';
import { LatchkeyError } from '@latchkey/client/errors';
import { fileStorage } from '@latchkey/client/file-storage';
import { openSession } from '@latchkey/client/session';
import { signIn } from '@latchkey/client/sign-in';

const { LATCHKEY_SERVER = 'http://localhost:8787', PROJECTS = 'http://localhost:3000' } = process.env;
const api = createApi({ server: LATCHKEY_SERVER, userAgent: 'projects/1.0' });
const file = fileStorage(join(homedir(), '.config', 'projects', 'credentials.json'));
const store = credentialStore(file, api.server);
const session = openSession({ api, store, origins: [PROJECTS] });

async function login() {
  const { user } = await signIn({
    api,
    store,
    clientName: 'Projects',
    deviceName: hostname(),
    onStart: ({ verificationUriComplete, userCode }) =>
      console.error(`Open ${verificationUriComplete} and compare the code:\n${userCode}`),
  });
  console.log(`Signed in as ${user.email}`);
}

async function list() {
  const response = await session.fetch(`${PROJECTS}/projects`);
  console.log(response.status, await response.text());
}

const commands = { login, list, logout: () => session.logout() };
const command = commands[process.argv[2] as keyof typeof commands];
if (command) {
  await command().catch((error) => {
    if (!(error instanceof LatchkeyError)) throw error;
    console.error(error.code === 'not_logged_in' ? 'Sign in first: projects login' : error.message);
    process.exitCode = error.retryable ? 4 : 1;
  });
} else {
  console.error(`Usage: projects ${Object.keys(commands).join('|')}`);
  process.exitCode = 2;
}
