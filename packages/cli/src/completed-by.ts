import type { Argument, Option } from 'commander';

const commandOf = new WeakMap<Argument | Option, string>();

/** Lets shells complete a value with the names that a command of the program lists. */
export function completedBy<T extends Argument | Option>(value: T, command: string): T {
  commandOf.set(value, command);
  return value;
}

/** The command that lists the possible values. */
export const listCommandOf = (value: Argument | Option): string | undefined => commandOf.get(value);
