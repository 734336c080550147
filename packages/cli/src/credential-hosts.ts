import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { UsageError } from './exit.ts';

// Stricter than a URL parser, which accepts other spellings and takes `git.example@other.example` for another host.
const hostAndPort = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/**
 * The origin that git wants to sign in to. Undefined if it must not get a token: plain http to another machine,
 * another protocol, or an address that is malformed.
 * @param host with a port, unless that is the default one of the protocol
 */
export function destinationOf(protocol: string, host: string): URL | undefined {
  if ((protocol !== 'https' && protocol !== 'http') || !hostAndPort.test(host)) return undefined;
  if (!URL.canParse(`${protocol}://${host}`)) return undefined;
  const origin = new URL(`${protocol}://${host}`);
  return protocol === 'https' || isLoopbackHost(origin.hostname) ? origin : undefined;
}

/** Whether the origin is one of the hosts, with the same port. */
export const isNamed = (origin: URL, hosts: readonly string[]): boolean =>
  hosts.some((host) => new URL(`${origin.protocol}//${host}`).host === origin.host);

/** @throws {UsageError} unless each is a host, with a port or without */
export function requireHosts(hosts: readonly string[]): void {
  if (hosts.every((host) => hostAndPort.test(host) && URL.canParse(`https://${host}`))) return;
  throw new UsageError(
    '--host must be a host name, with a port if it is not the default one.',
    'It looks like git.example or git.example:8443.',
  );
}
