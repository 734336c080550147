import type { OwnScope } from './scopes.ts';

/** Scopes that standard clients send and that allow nothing here. A file without schemas, for pages to import. */
export const emptyScopes: readonly string[] = ['openid', 'offline_access'] satisfies OwnScope[];
