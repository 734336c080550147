// The completion scripts of the command line, in real shells.

import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { credentialStore } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { type Home, newHome, runIn } from '../support/cli.ts';
import { openTerminal } from '../support/terminal.ts';

describe('completion', () => {
  /** The words that bash offers for each line. */
  async function bash(home: Home, lines: readonly string[]): Promise<string[][]> {
    const complete = lines.map(
      (line) => `COMP_LINE='${line}' COMP_POINT=${line.length} COMPREPLY=()
       _latchkey; printf '%s\\n' "\${COMPREPLY[@]}" '---'`,
    );
    const script = ['source <(latchkey completion bash)', ...complete].join('\n');
    const { stdout, stderr } = await runIn(home, ['bash', '-c', script]);
    expect(stderr).toBe('');
    return stdout
      .split('---\n')
      .slice(0, -1)
      .map((words) => words.trimEnd().split('\n'));
  }
  const cases: [string, string[]][] = [
    ['latchkey log', ['login', 'logout']],
    [
      'latchkey login ',
      [
        '--device',
        '--no-browser',
        '--port',
        '--device-name',
        '--yes',
        '--with-token',
        '--server',
        '--account',
        '--insecure-http',
        '--json',
        '--help',
      ],
    ],
    ['latchkey --server https://login.example sessions r', ['revoke']],
    ['latchkey sessions revoke --j', ['--json']],
    [
      'latchkey completion ',
      ['bash', 'zsh', 'fish', '--server', '--account', '--insecure-http', '--json', '--help'],
    ],
    ['latchkey --account ada keys c', ['create']],
    ['latchkey keys create --s', ['--scope', '--server']],
    ['latchkey whoami --account ', ['']],
    ['latchkey s', ['status', 'switch', 'sessions']],
    ['latchkey profile set --t', ['--time-zone']],
    ['latchkey credential g', ['git']],
    ['latchkey credential git --host git.example --sc', ['--scope']],
    ['latchkey login --server ', ['']],
    ['latchkey --server login whoa', ['whoami']],
  ];
  test('bash completes commands, options and their values', async () => {
    const found = await bash(
      newHome(),
      cases.map(([line]) => line),
    );
    expect(cases.map(([line], at) => [line, found[at]])).toEqual(cases);
  });

  test.skipIf(!Bun.which('zsh'))('zsh completes commands with the script', async () => {
    const home = newHome();
    const script = `autoload -Uz compinit && compinit -u; source <(latchkey completion zsh)
      compadd() { :; }; _describe() { print -l -- \${(P)2}; }
      words=(latchkey sessions '') CURRENT=3; _latchkey`;
    const { stdout, stderr } = await runIn(home, ['zsh', '-f', '-c', script]);
    expect(stderr).toBe('');
    expect(stdout).toContain('revoke:end one of your sessions');
  });

  test.skipIf(!Bun.which('fish'))('fish completes commands with the script', async () => {
    const home = newHome();
    const script = `latchkey completion fish | source; complete -C 'latchkey sessions '; complete -C 'latchkey log'`;
    const { stdout, stderr } = await runIn(home, ['fish', '-N', '-c', script]);
    expect(stderr).toBe('');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    ).toEqual(['revoke', 'login', 'logout']);
  });

  const here = 'http://localhost:8787';
  const elsewhere = 'https://login.example';
  const storeAs = (home: Home, server: string, email: string, account?: string) =>
    credentialStore(fileStorage(home.credentialsFile), server, account).put({
      server,
      user: { id: email, email },
      logged_in_at: '2026-01-01T00:00:00.000Z',
      kind: 'key',
      access_token: 'lk_ak_none',
    });

  /** Two logins at the server in use, and one elsewhere. */
  async function signedIn(): Promise<Home> {
    const home = newHome();
    await storeAs(home, elsewhere, 'eve@example.com');
    await storeAs(home, here, 'ada@example.com');
    await storeAs(home, here, 'grace@example.com', 'work');
    // A server says what the address is, and a login is named by it.
    await storeAs(home, here, '$(touch\tpwned)@example.com');
    await storeAs(home, here, '`touch\tpwned`@example.com');
    return home;
  }

  const names: [string, string[]][] = [
    ['latchkey logout --account ', ['ada@example.com', 'work']],
    ['latchkey --account w', ['work']],
    ['latchkey switch w', ['work']],
    ['latchkey whoami --account ada@ex', ['@example.com']],
    ['latchkey whoami --account ada@', ['@example.com']],
    [`latchkey --server ${elsewhere}:443 whoami --account `, ['eve@example.com']],
    ['latchkey --server elsewhere.example switch e', ['']],
  ];
  test('bash completes the names of accounts', async () => {
    const home = await signedIn();
    const found = await bash(
      home,
      names.map(([line]) => line),
    );
    expect(names.map(([line], at) => [line, found[at]?.toSorted()])).toEqual(names);
    expect(existsSync(join(home.path, 'pwned'))).toBe(false);
  });

  test.skipIf(!Bun.which('fish'))('fish completes the names of accounts', async () => {
    const home = await signedIn();
    for (const [line, words] of names) {
      const script = `latchkey completion fish | source; complete -C '${line}'`;
      const { stdout } = await runIn(home, ['fish', '-N', '-c', script]);
      const found = stdout.split('\n').flatMap((one) => (/^[^-\t]+/.exec(one) ?? []) as string[]);
      const whole = words.filter(Boolean).map((word) => word.replace(/^@/, 'ada@'));
      expect([line, found.toSorted()]).toEqual([line, whole]);
    }
    expect(existsSync(join(home.path, 'pwned'))).toBe(false);
  });

  const shells: [string, string[], string][] = [
    ['bash', ['--norc', '--noprofile', '-i'], 'source <(latchkey completion bash)'],
    ['zsh', ['-f', '-i'], 'autoload -Uz compinit && compinit -u; source <(latchkey completion zsh)'],
  ];
  for (const [shell, flags, load] of shells) {
    test.skipIf(!Bun.which(shell))(`${shell} completes the names of accounts at its prompt`, async () => {
      const home = await signedIn();
      const terminal = openTerminal(home, [shell, ...flags], { LATCHKEY_SERVER: here });
      const ready = `; echo rea''dy\n`;
      terminal.type(load + ready);
      await terminal.shows(/ready/);
      terminal.type('latchkey switch ad\t\n');
      await terminal.shows(/Now using ada@example\.com at /);
      terminal.type('latchkey switch ada@e\t; latchkey switch ada@\t; latchkey switch w\t\n');
      await terminal.shows(/Now using work \(grace@example\.com\) at /);
      terminal.type('latchkey accounts --account ada@exa\t--js\t\n');
      await terminal.shows(/"accounts": \[/);
      expect(terminal.screen()).not.toContain('latchkey: ');
      terminal.type('exit\n');
      await terminal.exited;
      expect(existsSync(join(home.path, 'pwned'))).toBe(false);
    });
  }
});
