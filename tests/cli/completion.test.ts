// The completion scripts of the command line, in real shells.

import { describe, expect, test } from 'bun:test';
import { type Home, newHome, runIn } from '../support/cli.ts';

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
});
