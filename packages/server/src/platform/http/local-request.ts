import { isLoopbackHost } from '../values/loopback.ts';

const forwardingHeaders = [
  'Forwarded',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Real-IP',
];

/**
 * Whether a request was made to this machine by a loopback name: no proxy forwarded it, and its `Host` is a loopback
 * name. The `Host` rules out web pages whose own name resolves to this machine (DNS rebinding).
 */
export const isForThisMachine = ({ url, headers }: Request): boolean =>
  isLoopbackHost(URL.parse(url)?.hostname ?? '') && !forwardingHeaders.some((name) => headers.has(name));
