// The two programs, as their single files, man pages and packages need to know them.

import { join } from 'node:path';
import type { Command } from 'commander';
import { createOutput } from '../../packages/cli/src/output.ts';
import { createProgram as createCommandLine } from '../../packages/cli/src/program.ts';
import { createOutput as createServerOutput } from '../../packages/server/src/operator/output.ts';
import { createProgram as createServer } from '../../packages/server/src/operator/program.ts';
import { keySettings } from '../../packages/server/src/platform/config/settings.ts';
import { allSettings } from '../../packages/server/src/settings.ts';

const root = join(import.meta.dir, '../..');

interface Entry {
  readonly term: string;
  readonly text: string;
}

export interface Program {
  readonly name: 'latchkey' | 'latchkey-server';
  readonly summary: string;
  /** The file that runs it from source. */
  readonly main: string;
  /** Whether it contains the web pages. */
  readonly hasPages: boolean;
  /** The section of its man page. */
  readonly section: 1 | 8;
  /** All commands, to be described and not to be run. */
  readonly commands: () => Command;
  readonly exitStatus: readonly Entry[];
  readonly environment: readonly Entry[];
  readonly files: readonly Entry[];
}

const discard = { write: (_: string, done?: () => void) => done?.() };
const output = createOutput({
  stdout: discard,
  stderr: discard,
  json: false,
  noColor: true,
  dumbTerminal: true,
});
const runNothing = async (): Promise<void> => {};

export const commandLine: Program = {
  name: 'latchkey',
  summary: 'sign in to Latchkey from the command line',
  main: join(root, 'packages/cli/src/main.ts'),
  hasPages: false,
  section: 1,
  commands: () => createCommandLine(output, () => runNothing),
  exitStatus: [
    { term: '0', text: 'Done.' },
    {
      term: '1',
      text: 'The server refused, is not a Latchkey server, or the stored credentials are damaged.',
    },
    { term: '2', text: 'Invalid usage or setting.' },
    { term: '3', text: 'Not signed in, or the session has ended: run `latchkey login`.' },
    {
      term: '4',
      text: 'Try again: the server is unreachable or busy, the credentials are locked or not writable, or the result could not be written. The credentials are kept.',
    },
    { term: '130', text: 'Interrupted by Ctrl-C.' },
  ],
  environment: [
    { term: 'LATCHKEY_SERVER', text: 'The server to use, unless `--server` names one.' },
    { term: 'LATCHKEY_ACCOUNT', text: 'The name of the login to use, unless `--account` names one.' },
    {
      term: 'LATCHKEY_TOKEN',
      text: 'An access token or a key in the place of a stored login; needs a server that is named.',
    },
    { term: 'LATCHKEY_CREDENTIALS', text: '`file` or `keychain`: where credentials are stored.' },
    { term: 'NO_COLOR', text: 'Turns colour off.' },
  ],
  files: [
    {
      term: '$XDG_CONFIG_HOME/latchkey/credentials.json',
      text: 'The credentials, where there is no keychain. Default: `~/.config/latchkey/credentials.json`.',
    },
  ],
};

export const server: Program = {
  name: 'latchkey-server',
  summary: 'the Latchkey authentication service and its operator commands',
  main: join(root, 'packages/server/src/main.ts'),
  hasPages: true,
  section: 8,
  commands: () =>
    createServer({
      env: {},
      output: createServerOutput(discard, discard),
      fail: () => {},
      readEnvFile: () => {},
      serve: runNothing,
      migrate: runNothing,
      runOnStore: () => runNothing,
      runOnRestored: () => () => runNothing,
    }),
  exitStatus: [
    { term: '0', text: 'Done.' },
    { term: '1', text: 'The command failed; standard error says why.' },
    { term: '2', text: 'Wrong usage.' },
  ],
  environment: [...allSettings, ...keySettings].map(({ name, description }) => ({
    term: name,
    // Links lead to pages that are not installed with the program.
    text: description.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
  })),
  files: [{ term: '.env', text: 'Settings, in the working directory. `--env-file` names another file.' }],
};

export const programs: readonly Program[] = [commandLine, server];
