import { touchPasskey } from '@latchkey/client/passkeys/ceremony';
import type { AuthenticationResponse, RequestOptions } from '@latchkey/contract/passkeys';
import { type Result, resultOf } from '../api.ts';
import type { ErrorMessages } from '../error-messages.ts';
import { texts } from '../texts.ts';

/** Does what a passkey of the account confirms, if it has one. @param isTouched as far as the page knows */
export async function withTouch<T>(
  isTouched: boolean,
  challenge: () => Promise<Result<{ readonly passkey: RequestOptions | null }>>,
  act: (passkey: AuthenticationResponse | null) => Promise<Result<T>>,
): Promise<Result<T>> {
  if (!isTouched) {
    const result = await act(null);
    if (result.ok || !result.problem.body?.['passkey_required']) return result;
  }
  const offered = await challenge();
  if (!offered.ok) return offered;
  const { passkey } = offered.value;
  if (passkey === null) return act(null);
  const touched = await resultOf(touchPasskey(passkey));
  return touched.ok ? act(touched.value) : touched;
}

/** For what a passkey has to confirm. Browsers report every reason by the first of these. */
export const touchErrors = {
  passkey_cancelled: texts.errors.touch.notGiven,
  no_authenticator: texts.errors.touch.notGiven,
} satisfies ErrorMessages;
