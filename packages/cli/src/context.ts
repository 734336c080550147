import type { CredentialStore } from '@latchkey/client/credentials';
import type { Config } from './config.ts';
import type { CredentialKind } from './exit.ts';
import type { Output } from './output.ts';
import type { Prompt } from './prompt.ts';
import type { TextSource } from './text-input.ts';

/** What a command talks to, and with what. */
export interface Connected {
  readonly server: string;
  readonly credential: CredentialKind;
  /** Undefined with `LATCHKEY_TOKEN` and `LATCHKEY_AGENT`. */
  readonly store?: CredentialStore;
  /** Whether other accounts of the server have a login here. */
  readonly hasOtherLogins?: boolean;
}

/** Everything a command works with. */
export interface Context {
  readonly config: Config;
  readonly output: Output;
  /** Loads standard input. */
  readonly stdin: () => TextSource;
  readonly prompt: Prompt;
  /** Aborted by Ctrl-C, and when the terminal or the system ends the command. */
  readonly signal: AbortSignal;
  /** From now on, signals are passed to this function instead of aborting `signal`. */
  readonly takeSignals: (handler: (signal: NodeJS.Signals) => void) => void;
  /** `--server` */
  readonly server: string | undefined;
  /** `--account` */
  readonly account: string | undefined;
  /** `--insecure-http` */
  readonly insecureHttp: boolean;
  /** Called with the version of the server, once a response has named it. */
  readonly onServerVersion: (version: string) => void;
  /** For the message if the command fails. */
  readonly onConnect: (connected: Connected) => void;
}
