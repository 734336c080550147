import ipaddr from 'ipaddr.js';

/** Whether a host name or address is a loopback one. An IPv6 address may be in brackets, as in a URL. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || (ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback');
}
