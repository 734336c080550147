import { loginNamed, type ServerLogins } from '@latchkey/client/credentials';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';

/** What a person may choose. */
const chosenName = /^[A-Za-z0-9._@+-]{1,100}$/;

/** A command's login: `--account`, `LATCHKEY_ACCOUNT`, or the one in use, if any. @throws {UsageError} */
export function accountName(ctx: Context, held: ServerLogins): string | undefined {
  const chosen = ctx.account ?? ctx.config.account;
  if (chosen === undefined) return held.current ?? undefined;
  return storedName(held, chosen) ?? newAccountName(ctx);
}

/** The name for a new login. Undefined: the address of its user. @throws {UsageError} */
export function newAccountName({ account, config }: Context): string | undefined {
  const name = account ?? config.account;
  if (name === undefined || chosenName.test(name)) return name;
  throw new UsageError(
    `${account === undefined ? 'LATCHKEY_ACCOUNT' : '--account'} must be 1 to 100 letters, digits or characters of "._@+-".`,
    'Run `latchkey accounts` to list the names in use.',
  );
}

/** A stored login of this name. Letter case matters only where two names differ in nothing else. */
export function storedName(held: ServerLogins, name: string): string | undefined {
  if (loginNamed(held, name)) return name;
  return Object.keys(held.logins).find((stored) => stored.toLowerCase() === name.toLowerCase());
}
