import type { Config } from '../platform/config/config.ts';

/** The address of the running service for commands on the same machine, without a slash at its end. */
export function ownServiceUrl({ host, port }: Config): string {
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
