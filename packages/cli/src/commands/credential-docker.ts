import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import {
  checkedHelper,
  type Helper,
  type HelperOptions,
  readRequest,
  tokenFor,
  username,
} from '../credential-helper.ts';
import { destinationsOf } from '../credential-hosts.ts';
import { exitStatus, ReportedError } from '../exit.ts';

export type DockerOperation = 'get' | 'store' | 'erase' | 'list';

/** Docker compares this text, and then continues without a credential. */
const notFound = 'credentials not found in native keychain';

/**
 * `latchkey credential docker OPERATION`: a token for docker. Nothing is stored or erased.
 * @see https://github.com/docker/docker-credential-helpers#development
 */
export async function dockerCredential(
  ctx: Context,
  operation: DockerOperation,
  options: HelperOptions,
): Promise<void> {
  const helper = checkedHelper(ctx, options);
  if (operation === 'list') return list(ctx, helper);
  const request = await readRequest(ctx);
  if (operation === 'get') await get(ctx, helper, request.trim());
}

async function get(ctx: Context, helper: Helper, address: string): Promise<void> {
  const origins = destinationsOf(address);
  const found = origins.length === 0 ? undefined : await tokenFor(ctx, await connect(ctx), helper, origins);
  if (!found) {
    ctx.output.result(undefined, () => [notFound]);
    throw new ReportedError(exitStatus.refused);
  }
  printJson(ctx, { ServerURL: address, Username: username, Secret: found.token });
}

/** The hosts for which `get` has an answer, as docker names them. */
async function list(ctx: Context, { hosts }: Helper): Promise<void> {
  const { server, stored } = await connect(ctx);
  const isSignedIn = !stored || (await stored.store.read()) !== null;
  const [own] = destinationsOf(server);
  const names = isSignedIn ? [...(own ? [own.host] : []), ...hosts] : [];
  printJson(ctx, Object.fromEntries(names.map((name) => [name, username])));
}

const printJson = ({ output }: Context, value: object): void =>
  output.result(value, () => [JSON.stringify(value)]);
