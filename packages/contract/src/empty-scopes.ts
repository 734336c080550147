import type { OwnScope } from './scopes.ts';

/**
 * Scopes that standard clients request and that allow nothing beyond the sign-in itself. They are in a file
 * without schemas so that pages can import it.
 */
export const emptyScopes: readonly string[] = ['openid', 'offline_access'] satisfies OwnScope[];
