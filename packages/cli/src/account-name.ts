import { loginNamed, type ServerLogins } from '@latchkey/client/credentials';
import type { Context } from './context.ts';
import { UsageError } from './exit.ts';

/** What a person may choose. */
const chosenName = /^[A-Za-z0-9._@+-]{1,100}$/;

/**
 * The name of the login that a command uses: `--account`, `LATCHKEY_ACCOUNT`, or the one in use. Undefined if none is.
 * @throws {UsageError}
 */
export function accountName(ctx: Context, held: ServerLogins): string | undefined {
  const chosen = chosenAccount(ctx);
  if (chosen === undefined) return held.current ?? undefined;
  return storedName(held, chosen.name) ?? requireChosenName(chosen);
}

/** The name for a new login. Undefined: the address of its user. @throws {UsageError} */
export function newAccountName(ctx: Context): string | undefined {
  const chosen = chosenAccount(ctx);
  return chosen && requireChosenName(chosen);
}

interface Chosen {
  readonly source: string;
  readonly name: string;
}

function chosenAccount({ account, config }: Context): Chosen | undefined {
  if (account !== undefined) return { source: '--account', name: account };
  return config.account === undefined ? undefined : { source: 'LATCHKEY_ACCOUNT', name: config.account };
}

function requireChosenName({ source, name }: Chosen): string {
  if (chosenName.test(name)) return name;
  throw new UsageError(
    `${source} must be 1 to 100 letters, digits or characters of "._@+-".`,
    'Run `latchkey accounts` to list the names in use.',
  );
}

/** A stored login of this name. Letter case matters only where two names differ in nothing else. */
export function storedName(held: ServerLogins, name: string): string | undefined {
  if (loginNamed(held, name)) return name;
  return Object.keys(held.logins).find((stored) => stored.toLowerCase() === name.toLowerCase());
}
