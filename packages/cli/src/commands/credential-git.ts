import { expireAccessToken } from '@latchkey/client/credentials';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { type Connection, connect, connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../exit.ts';
import { readUntil, requestedAccess } from '../text-input.ts';
import { type DatedToken, dated, issueToken, ownToken } from '../tokens.ts';

interface HelperOptions {
  readonly host?: readonly string[];
  readonly scope?: readonly string[];
  readonly resource?: string;
}

/** The user name beside a token, which services ignore. It must not tell them who the user is. */
const username = 'oauth2';

/**
 * `latchkey credential git OPERATION`: a token for git. For another host it prints nothing, so that git asks its next
 * helper. Nothing is stored. After git erases a token, the next one is new. Later operations of git are ignored.
 * @see https://git-scm.com/docs/gitcredentials#_custom_helpers
 */
export async function gitCredential(ctx: Context, operation: string, options: HelperOptions): Promise<void> {
  const helper = checkedHelper(ctx, options);
  const request = parseAttributes(await readRequest(ctx));
  if (operation === 'erase') return erase(ctx, request.get('password') ?? '');
  if (operation !== 'get') return;
  const origin = destinationOf(request.get('protocol') ?? '', request.get('host') ?? '');
  if (!origin) return;
  const found = await tokenFor(ctx, await connect(ctx), helper, origin);
  if (!found) return;
  const { token, expiresAt } = found;
  ctx.output.result(undefined, () => [
    ...(request.get('username') ? [] : [`username=${username}`]),
    `password=${token}`,
    ...(expiresAt === undefined ? [] : [`password_expiry_utc=${Math.floor(expiresAt / 1000)}`]),
  ]);
}

/** A server has refused this token: by this machine's clock it may seem to be valid for long. */
async function erase(ctx: Context, token: string): Promise<void> {
  if ((ctx.config.token ?? ctx.config.agent) !== undefined) return;
  const { stored } = await connectStored(ctx);
  await expireAccessToken(stored.store, token);
}

type Helper = ReturnType<typeof checkedHelper>;

/** The hosts, and what tokens for them allow: undefined without a scope. @throws {UsageError} */
function checkedHelper({ output }: Context, { host = [], scope, resource }: HelperOptions) {
  if (output.json)
    throw new UsageError('A credential helper answers in the format of git.', 'Leave out --json.');
  requireHosts(host);
  if (!scope && host.length > 0) throw scopeMissing('--host');
  if (!scope && resource !== undefined) throw scopeMissing('--resource');
  return { hosts: host, access: scope && requestedAccess(scope, resource) };
}

const scopeMissing = (option: string) =>
  new UsageError(
    `${option} needs a --scope: other services only get a token that is limited to one.`,
    'Add --scope with what the service needs.',
  );

/** The request of git, up to an empty line. @throws {UsageError} in a terminal, where a person would have to type it */
function readRequest({ stdin, signal }: Context): Promise<string> {
  const input = stdin();
  if (input.isTTY) throw new UsageError('git runs its credential helper, and sends it a request.');
  return readUntil(input, /(^|\n)\n/, fieldLimits.bodyBytes, signal);
}

/** A token for this origin. Undefined if it may have none. */
async function tokenFor(
  { signal }: Context,
  connection: Connection,
  { hosts, access }: Helper,
  origin: URL,
): Promise<DatedToken | undefined> {
  // A host that `--host` names gets a limited token, even if it is the login's own server.
  if (access && isNamed(origin, hosts))
    return dated(Date.now(), await issueToken(connection, access, signal));
  if (origin.origin === connection.server) return ownToken(connection, signal);
  return undefined;
}

/** Lines of `name=value`, up to an empty one. Of equal names the last counts. */
function parseAttributes(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n');
  const end = lines.indexOf('');
  return new Map(
    (end < 0 ? lines : lines.slice(0, end)).map((line) => {
      const [name = ''] = line.split('=', 1);
      return [name, line.slice(name.length + 1)] as const;
    }),
  );
}

// Stricter than a URL parser, which accepts other spellings and takes `git.example@other.example` for another host.
const hostAndPort = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/**
 * The origin that git wants to sign in to. Undefined if it must not get a token: plain http to another machine,
 * another protocol, or an address that is malformed.
 * @param host with a port, unless that is the default one of the protocol
 */
export function destinationOf(protocol: string, host: string): URL | undefined {
  if ((protocol !== 'https' && protocol !== 'http') || !hostAndPort.test(host)) return undefined;
  if (!URL.canParse(`${protocol}://${host}`)) return undefined;
  const origin = new URL(`${protocol}://${host}`);
  return protocol === 'https' || isLoopbackHost(origin.hostname) ? origin : undefined;
}

/** Whether the origin is one of the hosts, with the same port. */
export const isNamed = (origin: URL, hosts: readonly string[]): boolean =>
  hosts.some((host) => new URL(`${origin.protocol}//${host}`).host === origin.host);

/** @throws {UsageError} unless each is a host, with a port or without */
export function requireHosts(hosts: readonly string[]): void {
  if (hosts.every((host) => hostAndPort.test(host) && URL.canParse(`https://${host}`))) return;
  throw new UsageError(
    '--host must be a host name, with a port if it is not the default one.',
    'It looks like git.example or git.example:8443.',
  );
}
