import { type Command, Help, type Option } from 'commander';
import { exitStatus } from './exit.ts';

const examplesOf = new WeakMap<Command, readonly string[]>();

export function withExamples(command: Command, examples: readonly string[]): void {
  examplesOf.set(command, examples);
}

const statuses: readonly (readonly [number, string])[] = [
  [exitStatus.done, 'done'],
  [exitStatus.refused, 'the server refused'],
  [exitStatus.usage, 'invalid usage or setting'],
  [exitStatus.notLoggedIn, 'not signed in, or the session has ended'],
  [exitStatus.tryAgain, 'try again: the network, the server or the credentials are out of reach'],
  [exitStatus.interrupted, 'interrupted'],
];

/** An option of a command hides one of the same name of the commands above it. */
export function visibleGlobalOptions(this: Help, command: Command): Option[] {
  const own = command.options.map(({ long }) => long);
  return Help.prototype.visibleGlobalOptions.call(this, command).filter(({ long }) => !own.includes(long));
}

/** The help of a command, with its examples and the exit statuses. */
export function formatHelp(command: Command, help: Help): string {
  const examples = examplesOf.get(command) ?? [];
  return [
    Help.prototype.formatHelp.call(help, command, help).trimEnd(),
    ...(examples.length === 0 ? [] : ['', 'Examples:', ...examples.map((example) => `  ${example}`)]),
    '',
    'Exit status:',
    ...statuses.map(([status, meaning]) => `  ${String(status).padEnd(3)}  ${meaning}`),
    '',
  ].join('\n');
}
