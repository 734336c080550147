import type { Config } from './config.ts';
import type { Output } from './output.ts';

/** What a command may touch. */
export interface Context {
  readonly config: Config;
  readonly output: Output;
  /** The person has pressed Ctrl-C. */
  readonly signal: AbortSignal;
  /** `--server` */
  readonly server: string | undefined;
  /** `--insecure-http` */
  readonly insecureHttp: boolean;
}
