import { LatchkeyError } from '@latchkey/client/errors';
import { allPages } from '@latchkey/client/internal/pages';
import type { Body } from '@latchkey/client/operations';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { githubIssuer, trustError } from '@latchkey/contract/key-trust';
import type { KeyTrust } from '@latchkey/contract/keys';
import { showInBrowser } from '../browser.ts';
import { type Connection, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, orNotFound, UsageError } from '../exit.ts';
import { printList } from '../pages.ts';
import { localTime, shortened } from '../text.ts';
import { parseDuration, requestedAccess, requireText } from '../text-input.ts';

export interface NewKeyOptions {
  readonly name?: string;
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
  readonly issuer?: string;
  readonly claim?: readonly string[];
  /** False with `--no-browser`. */
  readonly browser: boolean;
}

/** `latchkey keys`: the user's keys without their secrets, newest first. */
export async function listKeys(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  const { entries, next_cursor } = await allPages('keys', (query) =>
    session.call('listKeys', { query, signal: ctx.signal }),
  );
  printList(ctx, {
    json: { keys: entries, next_cursor },
    heading: ['ID', 'NAME', 'SCOPE', 'RESOURCE', 'ISSUER', 'EXPIRES', 'LAST USED'],
    rows: entries.map(({ id, name, scope, resource, trust, expires_at, last_used_at }) => [
      id,
      name,
      scope,
      resource ?? '-',
      trust?.issuer ?? '-',
      localTime(expires_at),
      last_used_at === null ? 'never' : localTime(last_used_at),
    ]),
    none: 'You have no API keys. Create one with `latchkey keys create`.',
  });
}

type NewKey = Body<'createKey'>;

/** `latchkey keys create`: creates it with a recent `LATCHKEY_TOKEN`, else opens the account page. */
export async function createKey(ctx: Context, options: NewKeyOptions): Promise<void> {
  const key = checkedKey(options);
  const connection = await connect(ctx);
  if (connection.stored) return openAccountPage(ctx, connection, key, options);
  try {
    const created = await cancellable('Cancelled, but the server may already have created the key.', () =>
      connection.session.call('createKey', { body: key, signal: ctx.signal }),
    );
    ctx.output.result(created, () => [shortened(created.key ?? created.id)]);
  } catch (error) {
    // A terminal cannot use the passkey that has to confirm the key.
    if (!(error instanceof LatchkeyError && error.body?.['passkey_required'])) throw error;
    await openAccountPage(ctx, connection, key, options);
  }
}

/** @throws {UsageError} */
function checkedKey({ name, scope, resource, expires, issuer, claim = [] }: NewKeyOptions): NewKey {
  if (name === undefined || scope === undefined || expires === undefined) {
    const missing = Object.entries({ name, scope, expires }).filter(([, value]) => value === undefined);
    throw new UsageError(`Missing: ${missing.map(([option]) => `--${option}`).join(', ')}.`);
  }
  requireText('A name', name, fieldLimits.keyName);
  const access = requestedAccess(scope, resource);
  const expires_in = parseDuration('--expires', expires);
  if (expires_in < fieldLimits.keyMinSeconds || expires_in > fieldLimits.keyMaxSeconds) {
    throw new UsageError('A key can expire in 1 hour to 365 days.');
  }
  if (issuer === undefined && claim.length === 0) return { name, expires_in, ...access };
  return { name, expires_in, ...access, trust: checkedTrust(issuer, claim) };
}

/** @throws {UsageError} */
function checkedTrust(issuer: string | undefined, claim: readonly string[]): KeyTrust {
  if (issuer === undefined || claim.length === 0)
    throw new UsageError('--issuer and --claim need each other.');
  const pairs = claim.map((text): [string, string] => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new UsageError('--claim takes NAME=VALUE.');
    return [name, value];
  });
  const claims = Object.fromEntries(pairs);
  if (Object.keys(claims).length < pairs.length) throw new UsageError('A claim can be given once.');
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer)) {
    throw new UsageError('--issuer takes the https address of an issuer.', `GitHub's is ${githubIssuer}.`);
  }
  // The page could not create the key.
  const error = trustError({ issuer, claims });
  if (error !== undefined) {
    throw new UsageError(`The claims for ${issuer} ${error}.`, 'Give each claim as --claim NAME=VALUE.');
  }
  return { issuer, claims };
}

async function openAccountPage(
  ctx: Context,
  { server }: Connection,
  { name, scope, expires_in, resource, trust }: NewKey,
  { browser }: NewKeyOptions,
): Promise<void> {
  const query = new URLSearchParams({ 'new-key': '1', name, scope, expires: String(expires_in) });
  if (resource !== undefined) query.set('resource', resource);
  if (trust) query.set('issuer', trust.issuer);
  for (const [claim, value] of Object.entries(trust?.claims ?? {}))
    query.append('claim', `${claim}=${value}`);
  const url = `${server}/account?${query}`;
  ctx.output.message({ create_key: 'account_page' }, () => [
    'Nothing is created yet. To create the key, open this page in a browser and confirm it there:',
  ]);
  ctx.output.result({ url }, () => [url]);
  if (browser) await showInBrowser(ctx, url);
}

/** `latchkey keys remove ID` */
export async function removeKey(ctx: Context, id: string): Promise<void> {
  if (id === '') throw new UsageError('A key ID cannot be empty.');
  const { session } = await connect(ctx);
  await cancellable('Cancelled, but the server may already have removed that key.', () =>
    orNotFound(`You have no key ${id}.`, () =>
      session.call('removeKey', { params: { id }, signal: ctx.signal }),
    ),
  );
  ctx.output.result({ id }, () => [`Key ${id} has been removed. Programs can no longer use it.`]);
}
