import type { Passkey } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode } from '../errors.ts';
import { makeCredential } from './ceremony.ts';
import { inTurn, rememberIdentity, signalAccount, signalUnknown } from './signal.ts';

/**
 * Makes a passkey with the browser and registers it. Needs a recent login.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or the service's refusal
 */
export const addPasskey = (api: Api): Promise<Passkey> => inTurn(() => make(api));

async function make(api: Api): Promise<Passkey> {
  const options = await api.call('startPasskeyRegistration');
  rememberIdentity(options);
  const body = await makeCredential(options);
  try {
    const added = await api.call('registerPasskey', { body });
    await signalAccount(api);
    return added;
  } catch (error) {
    // The passkey that the browser has just made is good for nothing. Without an answer nobody knows, and nothing
    // is said. Where somebody else is signed in by now, the list of this account cannot be had.
    if (hasCode(error, 'precondition_failed')) await signalUnknown(options.rp.id, body.id);
    else if (!hasCode(error, 'unreachable', 'timeout', 'not_latchkey')) await signalAccount(api, body.id);
    throw error;
  }
}
