import type { Passkey } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode } from '../errors.ts';
import { makeCredential, upgradeSupported } from './ceremony.ts';
import { inTurn, rememberIdentity, signalAccount, signalUnknown } from './signal.ts';

const upgradeMilliseconds = 10_000;

let upgrade: AbortController | undefined;

/**
 * Makes a passkey with the browser and registers it. Needs a recent login.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or the service's refusal
 */
export function addPasskey(api: Api): Promise<Passkey> {
  upgrade?.abort();
  return inTurn(() => make(api));
}

/**
 * Lets a browser that does so make a passkey without asking, right after a login by other means. Whatever keeps
 * it from doing so is nobody's concern; that includes a passkey made without the person's presence or verification,
 * as Level 3 allows here and the service does not.
 * @see WebAuthn Level 3 sections 5.1.3 and 7.1
 */
export async function upgradeToPasskey(api: Api): Promise<Passkey | undefined> {
  if (!(await upgradeSupported())) return undefined;
  const controller = new AbortController();
  upgrade = controller;
  // One that the browser leaves hanging would keep every other tab waiting for its turn.
  const work = () =>
    make(api, AbortSignal.any([controller.signal, AbortSignal.timeout(upgradeMilliseconds)]));
  return inTurn(work).catch(() => undefined);
}

async function make(api: Api, conditional?: AbortSignal): Promise<Passkey> {
  const options = await api.call('startPasskeyRegistration');
  rememberIdentity(options);
  const body = await makeCredential(options, conditional ? { conditional: true, signal: conditional } : {});
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
