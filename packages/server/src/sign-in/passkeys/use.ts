import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import * as store from './store.ts';

/**
 * Records a use of a passkey. A counter that does not grow suggests a cloned private key: on a single-device passkey the use is refused;
 * a synced passkey legitimately has several authenticators, so there it is only logged.
 * @see WebAuthn Level 3 section 6.1.1
 */
export async function recordUse(
  ctx: Context,
  tx: Executor,
  use: store.PasskeyUse,
  client: ClientInfo,
): Promise<'accepted' | 'clone' | 'removed'> {
  const [advanced] = await store.advanceCounter(tx, use);
  if (advanced) return 'accepted';
  const [replaced] = await store.replaceCounter(tx, use);
  const [passkey] = await store.findPasskey(tx, { id: use.id });
  if (!passkey) return 'removed';
  await recordEvent(ctx, tx, {
    type: 'passkey_clone_suspected',
    userId: use.user_id,
    client,
    detail: { passkey_id: use.id, name: passkey.name, login: replaced ? 'accepted' : 'refused' },
  });
  return replaced ? 'accepted' : 'clone';
}
