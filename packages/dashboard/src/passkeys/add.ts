import type { Passkey } from '@latchkey/contract/passkeys';
import { type Result, registerPasskey, startPasskeyRegistration } from '../api.ts';
import { makeCredential, upgradeSupported } from './ceremony.ts';
import { inTurn, rememberIdentity, signalAccount } from './signal.ts';

const upgradeMilliseconds = 10_000;

let upgrade: AbortController | undefined;

/** Makes a passkey with the browser and registers it. */
export function addPasskey(): Promise<Result<Passkey>> {
  upgrade?.abort();
  return inTurn(() => make());
}

/**
 * Lets a browser that does so make a passkey without asking, right after a login by other means. Whatever keeps
 * it from doing so is nobody's concern; that includes a passkey made without the person's presence or verification,
 * as Level 3 allows here and the service does not.
 * @see WebAuthn Level 3 sections 5.1.3 and 7.1
 */
export async function upgradeToPasskey(): Promise<Passkey | undefined> {
  if (!(await upgradeSupported())) return undefined;
  const controller = new AbortController();
  upgrade = controller;
  // One that the browser leaves hanging would keep every other tab waiting for its turn.
  const result = await inTurn(() =>
    make(AbortSignal.any([controller.signal, AbortSignal.timeout(upgradeMilliseconds)])),
  );
  return result.ok ? result.value : undefined;
}

async function make(conditional?: AbortSignal): Promise<Result<Passkey>> {
  const options = await startPasskeyRegistration();
  if (!options.ok) return options;
  rememberIdentity(options.value);
  const made = await makeCredential(
    options.value,
    conditional ? { conditional: true, signal: conditional } : {},
  );
  if (!made.ok) return made;
  const added = await registerPasskey(made.value);
  // Also after a refusal: the passkey that the browser has just made is then good for nothing. Without an answer
  // nobody knows, and nothing is said.
  if (added.ok) await signalAccount();
  else if (added.problem.code !== 'unreachable') await signalAccount(made.value.id);
  return added;
}
