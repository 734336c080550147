import type { Profile } from '@latchkey/contract/account';
import type { AuthenticationResponse } from '@latchkey/contract/passkeys';
import { loginWithPasskey, type Result, startPasskeyLogin } from '../api.ts';
import { useCredential } from './ceremony.ts';
import { signalUnknown } from './signal.ts';

/** A passkey's answer to a challenge, and for whom. Good once. */
export interface Assertion {
  readonly rpId: string;
  readonly response: AuthenticationResponse;
}

/** Asks for a passkey in the browser's own dialogue. */
export async function askForPasskey(): Promise<Result<Assertion>> {
  const options = await startPasskeyLogin();
  if (!options.ok) return options;
  const used = await useCredential(options.value);
  if (!used.ok) return used;
  return { ok: true, value: { rpId: options.value.rpId, response: used.value } };
}

/** Signs in. A passkey that the service says it does not know is reported to where it is kept. */
export async function redeemPasskey({ rpId, response }: Assertion): Promise<Result<{ user: Profile }>> {
  const result = await loginWithPasskey(response);
  if (!result.ok && result.problem.code === 'unknown_credential') await signalUnknown(rpId, response.id);
  return result;
}
