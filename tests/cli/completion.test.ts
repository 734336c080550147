// The completion scripts of the command line, in real shells.

import { describe, expect, test } from 'bun:test';
import { type Home, newHome, runIn } from '../support/cli.ts';

describe('completion', () => {
  const bash = (home: Home, line: string) =>
    runIn(home, [
      'bash',
      '-c',
      `source <(latchkey completion bash)
       COMP_WORDS=(${line}) COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
       _latchkey; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
  const cases: [string, string[]][] = [
    ['latchkey log', ['login', 'logout']],
    [
      "latchkey login ''",
      [
        '--no-browser',
        '--device-name',
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
      "latchkey completion ''",
      ['bash', 'zsh', 'fish', '--server', '--account', '--insecure-http', '--json', '--help'],
    ],
    ['latchkey --account ada keys c', ['create']],
    ['latchkey keys create --s', ['--scope', '--server']],
    ["latchkey whoami --account ''", ['']],
    ['latchkey s', ['status', 'switch', 'sessions']],
    ['latchkey profile set --t', ['--time-zone']],
    ['latchkey credential k', ['kubernetes']],
    ['latchkey credential git --host git.example --sc', ['--scope']],
    ['latchkey credential docker e', ['erase']],
    ["latchkey login --server ''", ['']],
    ['latchkey --server login whoa', ['whoami']],
  ];
  for (const [line, words] of cases) {
    test(`bash: ${line}`, async () => {
      const { stdout, stderr } = await bash(newHome(), line);
      expect(stderr).toBe('');
      expect(stdout.trimEnd().split('\n')).toEqual(words);
    });
  }

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
