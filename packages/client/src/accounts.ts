// Several logins on one server: adding one before its user is known, and choosing the one in use.

import {
  hasSameRefreshRequest,
  loginNamed,
  type PlacedLogin,
  placeLogin,
  type ServerLogins,
  type Storage,
  type StoredLogin,
  updateLogins,
  withLogin,
  withoutLogin,
} from './credentials.ts';

/**
 * Stores a new login before it is known whose it is, so that its tokens cannot get lost. It gets the chosen name, or a
 * temporary one, and is only put in use if there is no other. `settleLogin` completes it.
 * @example
 * const { name } = await addLogin(storage, login);
 */
export async function addLogin(storage: Storage, login: StoredLogin, account?: string): Promise<PlacedLogin> {
  const name = account ?? `login-${crypto.randomUUID().slice(0, 8)}`;
  let replaced: StoredLogin | null = null;
  const change = (held: ServerLogins) => {
    replaced = loginNamed(held, name);
    return withLogin(held, name, login);
  };
  await updateLogins(storage, login.server, change, { current_server: login.server });
  return { name, replaced };
}

/**
 * Puts an added login in use. Once its user is known, it gets the name that `CredentialStore.put` would have given it,
 * and replaces what that would have replaced.
 * @param added its temporary or chosen name
 * @param user undefined if the service did not say
 * @example
 * const { replaced } = await settleLogin(storage, login, name, { id: me.id, email: me.email });
 */
export async function settleLogin(
  storage: Storage,
  login: StoredLogin,
  added: string,
  user: StoredLogin['user'] | undefined,
  account?: string,
): Promise<PlacedLogin> {
  let placed: PlacedLogin = { name: added, replaced: null };
  await updateLogins(storage, login.server, (held) => {
    // Another process may have refreshed it, or ended it.
    const stored = loginNamed(held, added);
    if (stored?.logged_in_at !== login.logged_in_at) return undefined;
    if (!user) return { ...held, current: added };
    const { next, ...place } = placeLogin(withoutLogin(held, added), { ...stored, user }, account);
    placed = place;
    return next;
  });
  return placed;
}

/**
 * Puts a stored login in use. False if there is none of this name.
 * @example
 * await useLogin(storage, 'https://login.example', 'work');
 */
export async function useLogin(storage: Storage, server: string, name: string): Promise<boolean> {
  let found = false;
  await updateLogins(storage, server, (held) => {
    found = loginNamed(held, name) !== null;
    return found ? { ...held, current: name } : undefined;
  });
  return found;
}

/**
 * After a person has signed out: puts the only other login in use. With several others, none is in use until one is
 * chosen. Returns the name of the login in use.
 * @internal
 */
export async function leaveLogin(storage: Storage, server: string, name: string): Promise<string | null> {
  let current: string | null = null;
  await updateLogins(storage, server, (held) => {
    current = held.current;
    if ((current !== null && current !== name) || loginNamed(held, name)) return undefined;
    const [only, ...others] = Object.keys(held.logins);
    current = only !== undefined && others.length === 0 ? only : null;
    return { ...held, current };
  });
  return current;
}

/**
 * Removes logins that have ended, by name. One that has been replaced or refreshed since it was read stays. If the login
 * in use is removed, none is in use.
 * @internal
 */
export const forgetLogins = (
  storage: Storage,
  server: string,
  ended: Readonly<Record<string, StoredLogin>>,
): Promise<void> =>
  updateLogins(storage, server, (held) => {
    let left = held;
    for (const [name, login] of Object.entries(ended)) {
      if (!hasSameRefreshRequest(loginNamed(left, name), login)) continue;
      left = withoutLogin(left, name);
      if (left.current === name) left = { ...left, current: null };
    }
    return left;
  });
