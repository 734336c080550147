import type { Config } from './config.ts';
import type { Connected } from './exit.ts';
import type { Output } from './output.ts';
import type { Prompt } from './prompt.ts';
import type { TextSource } from './text-input.ts';

export interface GlobalOptions {
  readonly server?: string | undefined;
  readonly account?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
}

export interface Context extends GlobalOptions {
  readonly config: Config;
  readonly output: Output;
  /** Loads standard input: only for a command that reads it. */
  readonly stdin: () => TextSource;
  readonly prompt: Prompt;
  /** Aborted by Ctrl-C, and when the terminal or the system ends the command. */
  readonly signal: AbortSignal;
  /** From now on, signals are passed to this function instead of aborting `signal`. */
  readonly takeSignals: (handler: (signal: NodeJS.Signals) => void) => void;
  /** Sends a signal to a program that leads a group, and to the group, unless it has ended. */
  readonly signalGroup: (leader: number, signal: NodeJS.Signals) => void;
  /** For the message if the command fails. */
  readonly onConnect: (connected: Connected) => void;
}
