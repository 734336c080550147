import { randomInt } from 'node:crypto';
import type { Context } from '../../platform/context.ts';

/** The third wrong code ends the authorization. */
export const maxConfirmationTries = 3;

const digits = 6;

export const newConfirmationCode = (): string => String(randomInt(10 ** digits)).padStart(digits, '0');

/** The hashes a confirmation code may be stored under, the newest key's first. Spaces and hyphens do not matter. */
export const confirmationHashes = (ctx: Context, authorizationId: string, code: string): string[] =>
  ctx.keys.all.map((key) =>
    key
      .mac('device confirmation', Buffer.from(`${authorizationId} ${code.replace(/[\s-]/g, '')}`))
      .toString('base64url'),
  );
