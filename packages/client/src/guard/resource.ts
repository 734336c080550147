import type { GuardedRequest } from './refusal.ts';
import type { Requirements } from './requirements.ts';

const wellKnownPath = '/.well-known/oauth-protected-resource';
/** New scopes of a program are seen by clients after this time. */
const maxAgeSeconds = 300;

/** The document that tells clients who issues tokens for a resource. @see RFC 9728 */
export interface ResourceMetadata {
  /** The parameters that lead a refused client to the document. */
  challengeFor(requirements: Requirements): Record<string, string>;
  /** Lists the scopes of a route. */
  list(requirements: Requirements): void;
  /** The response to a request for the document, which pages of every origin may read; undefined for other requests. */
  respond(request: GuardedRequest): Promise<Response | undefined>;
}

/** @throws {RangeError} for a resource that is no URL, or would break a challenge */
export function resourceMetadata(resource: string, issuer: () => Promise<string>): ResourceMetadata {
  if (!/^https?:\/\/[\x21\x24-\x5b\x5d-\x7e]+$/.test(resource) || !URL.canParse(resource))
    throw new RangeError('resource must be an https or http URL without a fragment.');
  const { origin, pathname, search } = new URL(resource);
  const path = wellKnownPath + (pathname === '/' ? '' : pathname);
  const url = origin + path + search;
  const listed = new Set<string>();

  return {
    challengeFor: ({ scopes = [] }) => ({
      resource_metadata: url,
      ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    }),
    list: ({ scopes = [] }) => {
      // Only the person's own login can have it, so no client could ask for it.
      for (const name of scopes) if (name !== '*') listed.add(name);
    },
    respond: async ({ method, url: requested = '', headers }) => {
      if (!URL.canParse(requested, origin) || new URL(requested, origin).pathname !== path) return undefined;
      if (method === 'OPTIONS') {
        const preflight = {
          'Access-Control-Allow-Methods': 'GET, HEAD',
          'Access-Control-Allow-Headers': headers.get('Access-Control-Request-Headers') ?? '',
          'Access-Control-Max-Age': '600',
        };
        return new Response(null, { status: 204, headers: preflight });
      }
      if (method !== 'GET' && method !== 'HEAD')
        return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD, OPTIONS' } });
      const document = {
        resource,
        authorization_servers: [await issuer()],
        ...(listed.size > 0 ? { scopes_supported: [...listed] } : {}),
        bearer_methods_supported: ['header'],
      };
      return Response.json(document, {
        headers: { 'Cache-Control': `public, max-age=${maxAgeSeconds}` },
      });
    },
  };
}
