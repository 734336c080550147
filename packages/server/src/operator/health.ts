import type { Command } from 'commander';
import { ConfigError } from '../platform/config/config-error.ts';
import { readConfig } from '../settings.ts';
import { ownServiceUrl } from './own-service.ts';

/** Shorter than the timeout of a health check in `deploy/`, so that the reason is printed. */
const timeoutMs = 3_000;

/** `health`: asks the running service whether it is ready, for container images, which have no other HTTP client. */
export function healthCommand(program: Command): void {
  program
    .command('health')
    .description('ask the service on this machine whether it is ready; fails if it is not')
    .action(async () => {
      const url = `${ownServiceUrl(readConfig())}/readyz`;
      const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined);
      if (!response) throw new ConfigError(`no response from ${url}.`);
      if (!response.ok) throw new ConfigError(`${url} answers ${response.status}.`);
    });
}
