import { fieldLimits } from '@latchkey/contract/field-limits';
import { missingClaims } from '@latchkey/contract/key-trust';
import type { NewKey, ScopeList } from '@latchkey/contract/keys';
import { emptyScopes, everything, joinScope } from '@latchkey/contract/scope-names';
import { choiceOf } from '../format.ts';
import { scopeText } from '../scope-text.tsx';
import { fill, texts } from '../texts.ts';

/** What the form for a new key shows before the person changes it. */
export interface KeyRequest {
  readonly name: string;
  /** Names of scopes; `*` for everything. */
  readonly scopes: readonly string[];
  /** Empty for any service. */
  readonly resource: string;
  readonly expiresInSeconds: number;
  /** For a key without a secret. */
  readonly trust?: { readonly issuer: string; readonly claims: string } | undefined;
}

const day = 86_400;

/** How long a new key may live, in seconds. */
export const lifetimes = [7 * day, 30 * day, 90 * day, 365 * day] as const;

const defaultLifetime = lifetimes[1];

export const emptyRequest: KeyRequest = {
  name: '',
  scopes: [],
  resource: '',
  expiresInSeconds: defaultLifetime,
};

/**
 * The key that a link to the account page requests with `?new-key=1&name=…&scope=…&resource=…&expires=…`, and
 * `&issuer=…&claim=NAME=VALUE…` for one without a secret, as the command line opens it. Undefined for any other link. Creates nothing: the user decides.
 */
export function requestedKey(query: URLSearchParams): KeyRequest | undefined {
  if (query.get('new-key') !== '1') return undefined;
  const scopes = joinScope((query.get('scope') ?? '').split(' ')).split(' ');
  const seconds = Number(query.get('expires') ?? '');
  const isPossible =
    Number.isInteger(seconds) && seconds >= fieldLimits.keyMinSeconds && seconds <= fieldLimits.keyMaxSeconds;
  const issuer = query.get('issuer');
  return {
    name: (query.get('name') ?? '').trim().slice(0, fieldLimits.keyName),
    scopes: [...new Set(scopes)].filter((name) => name !== ''),
    resource: query.get('resource') ?? '',
    expiresInSeconds: isPossible ? seconds : defaultLifetime,
    ...(issuer === null ? {} : { trust: { issuer, claims: query.getAll('claim').join('\n') } }),
  };
}

/** The requested scopes that no service declares. They stay visible until the person removes them. */
export const unknownScopes = (requested: readonly string[], known: ScopeList): string[] =>
  requested.filter((name) => name !== everything && !known.scopes.some((scope) => scope.name === name));

/** The claims in a text with one `name=value` per line; undefined if a line is something else or repeats a name. */
function readClaims(text: string): Record<string, string> | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const pairs = lines.map((line) => /^([^=]+)=(.+)$/.exec(line)?.slice(1) as [string, string] | undefined);
  const names = new Set(pairs.map((pair) => pair?.[0]));
  const isClear = lines.length > 0 && names.size === lines.length && !names.has(undefined);
  return isClear ? Object.fromEntries(pairs as [string, string][]) : undefined;
}

type Problem = readonly [field: 'name' | 'scope' | 'issuer' | 'claims', message: string];

const words = texts.account.keys;

/** Why the form can't be submitted yet; undefined if it can. */
export function problemWith(request: KeyRequest, known: ScopeList): Problem | undefined {
  if (request.name.trim() === '') return ['name', texts.account.enterName];
  if (unknownScopes(request.scopes, known).length > 0) return ['scope', words.untick];
  if (request.scopes.length === 0) return ['scope', words.chooseScope];
  const { trust } = request;
  if (trust?.issuer.trim() === '') return ['issuer', words.enterTrust];
  return trust && !readClaims(trust.claims) ? ['claims', words.enterTrust] : missingClaim(trust);
}

/** A key without a secret needs a claim that identifies the jobs. */
export function missingClaim(trust: KeyRequest['trust']): Problem | undefined {
  if (trust === undefined) return undefined;
  const missing = missingClaims(trust.issuer.trim(), Object.keys(readClaims(trust.claims) ?? {}));
  return missing.length === 0 ? undefined : ['claims', fill(words.needsClaim, { claims: choiceOf(missing) })];
}

export const newKeyOf = ({ name, scopes, resource, expiresInSeconds, trust }: KeyRequest): NewKey => ({
  name: name.trim(),
  scope: joinScope(scopes),
  expires_in: expiresInSeconds,
  ...(resource === '' ? {} : { resource }),
  ...(trust ? { trust: { issuer: trust.issuer.trim(), claims: readClaims(trust.claims) ?? {} } } : {}),
});

/** What a key allows, one sentence each. A scope that is no longer declared has only its name. */
export const sentencesOf = (scope: string, known: ScopeList): string[] =>
  scope.split(' ').flatMap((name) => {
    if (name === everything) return texts.common.everything;
    const found = known.scopes.find((one) => one.name === name);
    if (!found) return name;
    if (emptyScopes.includes(name)) return [];
    return found.service === null ? scopeText(found) : `${scopeText(found)} (${found.service})`;
  });
