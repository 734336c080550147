import { credentialStore, type StoredKey } from '@latchkey/client/credentials';
import { hasCode } from '@latchkey/client/errors';
import { userOf } from '@latchkey/client/internal/user';
import { newAccountName } from '../account-name.ts';
import { type Connection, connectStored } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, KeyRefused, UsageError } from '../exit.ts';
import { afterRefresh, endReplaced, printOthers } from '../new-login.ts';
import { readLine } from '../text-input.ts';

/** Longer than any key. */
const maxKeyLength = 1024;

/** `latchkey login --with-token`: stores a key from standard input instead of a session. */
export async function loginWithKey(ctx: Context): Promise<void> {
  const account = newAccountName(ctx);
  const connection = await connectStored(ctx);
  const { server, stored } = connection;
  const { key, user } = await cancellable('Login cancelled. Nothing was changed.', async () => {
    const read = await readKey(ctx);
    return { key: read, user: await ownerOf(ctx, connection, read) };
  });
  const login: StoredKey = {
    kind: 'key',
    server,
    user,
    logged_in_at: new Date().toISOString(),
    access_token: key,
  };
  const store = credentialStore(stored.place.storage, server, account);
  const { name, replaced } = await afterRefresh(connection, () => store.put(login));
  if (replaced?.access_token !== key) await endReplaced(ctx, connection, replaced);
  const as = user.email || user.id;
  ctx.output.result({ server, account: name, user: user.id === '' ? null : user }, () => [
    `Signed in to ${server}${as === '' ? '' : ` as ${as}`} with a key${name === as ? '' : ` (account ${name})`}.`,
  ]);
  await printOthers(ctx, connection, name);
}

async function readKey({ stdin, output, signal }: Context): Promise<string> {
  const input = stdin();
  if (input.isTTY) output.message({ waiting: 'key' }, () => ['Paste the key, and press Enter.']);
  const key = await readLine(input, maxKeyLength, signal);
  if (/^lk_ak_[\w-]+$/.test(key) && key.length <= maxKeyLength) return key;
  throw new UsageError(
    key === '' ? 'Standard input is empty.' : 'Standard input is not a key: a key begins with lk_ak_.',
    'Create a key on the account page; `latchkey keys create` opens it.',
  );
}

/** Asks the server whose key it is. A key may be too narrow to say. */
async function ownerOf({ signal }: Context, { api, server }: Connection, key: string) {
  try {
    return await userOf(api, key, signal);
  } catch (error) {
    throw hasCode(error, 'invalid_token') ? new KeyRefused(server, error.requestId) : error;
  }
}
