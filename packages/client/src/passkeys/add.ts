import type { Passkey } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode, LatchkeyError } from '../errors.ts';
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
    // The passkey that the browser has just created is useless. Unless the response was lost: then nothing is signalled.
    if (isRefused(error)) await signalUnknown(options.rp.id, body.id);
    else if (!hasCode(error, 'unreachable', 'timeout', 'not_latchkey')) await signalAccount(api, body.id);
    throw error;
  }
}

/** Whether the service certainly did not register the passkey. With `conflict`, an earlier attempt may have. */
const isRefused = (error: unknown): boolean =>
  error instanceof LatchkeyError &&
  error.status !== undefined &&
  error.status < 500 &&
  error.code !== 'conflict';
