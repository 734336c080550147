import type { Passkey } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode } from '../errors.ts';
import { makeCredential } from './ceremony.ts';
import { inTurn, rememberIdentity, signalAccount, signalUnknown } from './signal.ts';

/**
 * Creates a passkey in the browser and registers it. Requires a recent sign-in.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or the service's error code
 * @example
 * const { name } = await addPasskey(api);
 */
export const addPasskey = (api: Api): Promise<Passkey> => inTurn(() => create(api));

async function create(api: Api): Promise<Passkey> {
  const options = await api.call('startPasskeyRegistration');
  rememberIdentity(options);
  const body = await makeCredential(options);
  try {
    const added = await api.call('registerPasskey', { body });
    await signalAccount(api);
    return added;
  } catch (error) {
    // The passkey that the browser has just created is useless, unless the response was lost: then nothing is
    // signalled. If another user has signed in meanwhile, this account's passkeys cannot be listed.
    if (hasCode(error, 'precondition_failed')) await signalUnknown(options.rp.id, body.id);
    else if (!hasCode(error, 'unreachable', 'timeout', 'not_latchkey')) await signalAccount(api, body.id);
    throw error;
  }
}
