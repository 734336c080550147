import { auth, define } from '../endpoint.ts';
import { introspection, introspectionJwtType, introspectionRequest } from '../services.ts';

export const serviceEndpoints = {
  introspect: define({
    id: 'introspect',
    method: 'post',
    path: `${auth}/introspect`,
    summary: 'Returns whether a token is active, and whose it is',
    notes: 'For services (RFC 7662). Returns a signed response (RFC 9701) if the Accept header asks for one.',
    access: 'service',
    body: introspectionRequest,
    form: introspectionRequest,
    status: 200,
    response: introspection,
    signedAs: introspectionJwtType,
    errors: ['invalid_request'],
  }),
} as const;
