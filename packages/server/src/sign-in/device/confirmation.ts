import { randomInt } from 'node:crypto';
import { plainCode } from '@latchkey/contract/codes';
import type { Context } from '../../platform/context.ts';

/** The third wrong code ends the authorization. */
export const maxConfirmationTries = 3;

const digits = 6;

export const newConfirmationCode = (): string => String(randomInt(10 ** digits)).padStart(digits, '0');

/** The hashes a confirmation code may be stored under, the newest key's first, for a code as it was typed. */
export const confirmationHashes = (ctx: Context, authorizationId: string, code: string): string[] =>
  ctx.keys.all.map((key) =>
    key
      .mac('device confirmation', Buffer.from(`${authorizationId} ${plainCode(code)}`))
      .toString('base64url'),
  );
