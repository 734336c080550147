import type { CredentialStore } from '@latchkey/client/credentials';
import type { Config } from './config.ts';
import type { Output } from './output.ts';

/** Everything a command works with. */
export interface Context {
  readonly config: Config;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** `--server` */
  readonly server: string | undefined;
  /** `--insecure-http` */
  readonly insecureHttp: boolean;
  /** Called with the store of the server that the command talks to, for the message if it fails. */
  readonly onConnect: (store: CredentialStore) => void;
}
