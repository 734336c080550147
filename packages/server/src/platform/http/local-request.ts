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
 * Whether a request was meant for this machine: no proxy forwarded it, and its `Host` is a loopback one. A web page
 * whose own name was made to resolve to this machine (DNS rebinding) sends that name.
 */
export const isForThisMachine = ({ url, headers }: Request): boolean =>
  isLoopbackHost(new URL(url).hostname) && !forwardingHeaders.some((name) => headers.has(name));
