// The completion scripts of the command line in the shells that are there. What bash completes is in transcripts/completion.txt.

import { expect, test } from 'bun:test';
import { newHome, runIn } from '#support/cli.ts';

test.skipIf(!Bun.which('zsh'))('zsh completes commands with the script', async () => {
  const script = `autoload -Uz compinit && compinit -u; source <(latchkey completion zsh)
    compadd() { :; }; _describe() { print -l -- \${(P)2}; }
    words=(latchkey sessions '') CURRENT=3; _latchkey`;
  const { stdout, stderr } = await runIn(newHome(), ['zsh', '-f', '-c', script]);
  expect([stdout, stderr]).toEqual([expect.stringContaining('revoke:end one of your sessions'), '']);
});

test.skipIf(!Bun.which('fish'))('fish completes commands with the script', async () => {
  const script = `latchkey completion fish | source; complete -C 'latchkey sessions '; complete -C 'latchkey log'`;
  const { stdout, stderr } = await runIn(newHome(), ['fish', '-N', '-c', script]);
  const words = stdout.trim().split('\n');
  expect([words.map((line) => line.split('\t')[0]), stderr]).toEqual([['revoke', 'login', 'logout'], '']);
});
