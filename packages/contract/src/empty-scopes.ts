import type { OwnScope } from './scopes.ts';

/** Requested by standard clients, and allow nothing more. Without schemas, so that pages can import it. */
export const emptyScopes: readonly string[] = ['openid', 'offline_access'] satisfies OwnScope[];
