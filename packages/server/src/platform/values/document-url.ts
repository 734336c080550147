import { fieldLimits } from '@latchkey/contract/field-limits';
import { isLoopbackHost } from './loopback.ts';

/**
 * The URL of a document in which a client describes itself, spelled as the URL standard serializes it: https, or http with a
 * loopback host. Undefined for any other text.
 */
export function parseDocumentUrl(text: string): URL | undefined {
  if (text.length > fieldLimits.redirectUri || /[?#]/.test(text)) return undefined;
  const url = URL.parse(text);
  if (url?.href !== text || url.pathname === '/' || url.username !== '' || url.password !== '')
    return undefined;
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
  return isAllowed ? url : undefined;
}
