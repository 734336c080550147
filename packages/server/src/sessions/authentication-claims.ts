import type { Tables } from '../platform/database/schema.ts';
import { inSeconds } from '../platform/values/in-seconds.ts';

/** How and when a user signed in, in milliseconds since 1970. */
export interface Authentication {
  readonly method: Tables['sessions']['method'];
  readonly startedAt: number;
}

/**
 * When and how the user authenticated. Empty for a code: it only proves that someone approved a program, in another session and
 * some time ago.
 * @see RFC 8176, RFC 9470 section 6.2
 */
export function authenticationClaims({ method, startedAt }: Authentication) {
  const auth_time = inSeconds(startedAt);
  switch (method) {
    case 'passkey':
      return { auth_time, amr: ['pop', 'user', 'mfa'], acr: 'phr' as const };
    case 'magic_link':
    case 'email_code':
      return { auth_time, amr: ['otp'] };
    case 'device_code':
    case 'browser_code':
    case 'key':
    case 'token_exchange':
      return {};
  }
}
