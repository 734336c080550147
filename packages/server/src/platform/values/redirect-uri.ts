// Where an authorization response may be sent: pure functions.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { isLoopbackHost } from './loopback.ts';

/** The hosts that a program on the user's computer listens on. `URL` writes IPv6 addresses in brackets. */
const loopbackHosts: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];

const isHttpLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && loopbackHosts.includes(hostname);

/**
 * The URL of a redirect URI: https, or http to a loopback host, as the URL standard serializes it, so that
 * what is compared is what the browser requests. A host with `*` looks like a pattern.
 */
export function parseRedirectUri(text: string): URL | undefined {
  if (text.length > fieldLimits.redirectUri || text.includes('#')) return undefined;
  const url = URL.parse(text);
  if (url?.href !== text || url.username !== '' || url.password !== '') return undefined;
  if (url.hostname.includes('*')) return undefined;
  return url.protocol === 'https:' || isHttpLoopback(url) ? url : undefined;
}

/** A redirect URI with parameters added to its query. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string>>): string {
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return `${uri}${separator}${new URLSearchParams(parameters)}`;
}

/** Whether the redirect URI leads back to the computer of the browser. */
export const isLoopbackRedirect = (uri: string): boolean => isLoopbackHost(new URL(uri).hostname);

/** A program listens on a port that the system chose. @see RFC 8252 section 7.3 */
function withoutLoopbackPort(url: URL): string {
  if (!isHttpLoopback(url)) return url.href;
  const portless = new URL(url);
  portless.port = '';
  return portless.href;
}

/** Whether a registered redirect URI allows the requested one: they are equal, except for a loopback port. */
export function allowsRedirect(registered: string, requested: string): boolean {
  const [one, other] = [parseRedirectUri(registered), parseRedirectUri(requested)];
  return one !== undefined && other !== undefined && withoutLoopbackPort(one) === withoutLoopbackPort(other);
}

/** https, or http to a loopback host, spelled as the URL standard does. Undefined for any other text. */
export function parseDocumentUrl(text: string): URL | undefined {
  if (text.length > fieldLimits.redirectUri || /[?#]/.test(text)) return undefined;
  const url = URL.parse(text);
  if (url?.href !== text || url.pathname === '/' || url.username !== '' || url.password !== '')
    return undefined;
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
  return isAllowed ? url : undefined;
}
