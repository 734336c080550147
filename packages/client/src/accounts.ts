// Several logins on one server: adding one before its user is known, and choosing the one in use.

import {
  hasSameRefreshRequest,
  loginNamed,
  type PlacedLogin,
  placeLogin,
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
export const addLogin = (
  storage: Storage,
  login: StoredLogin,
  account = `login-${crypto.randomUUID().slice(0, 8)}`,
): Promise<PlacedLogin> =>
  updateLogins(
    storage,
    login.server,
    (held) => [withLogin(held, account, login), { name: account, replaced: loginNamed(held, account) }],
    { current_server: login.server },
  );

/**
 * Puts an added login in use. Once its user is known, it gets the name that `CredentialStore.put` would have given it,
 * and replaces what that would have replaced.
 * @param added its temporary or chosen name
 * @param user undefined if the service did not say
 * @example
 * const { replaced } = await settleLogin(storage, login, name, { id: me.id, email: me.email });
 */
export const settleLogin = (
  storage: Storage,
  login: StoredLogin,
  added: string,
  user: StoredLogin['user'] | undefined,
  account?: string,
): Promise<PlacedLogin> =>
  updateLogins(storage, login.server, (held) => {
    const asAdded = { name: added, replaced: null };
    // Another process may have refreshed it, or ended it.
    const stored = loginNamed(held, added);
    if (stored?.logged_in_at !== login.logged_in_at) return [undefined, asAdded];
    if (!user) return [{ ...held, current: added }, asAdded];
    return placeLogin(withoutLogin(held, added), { ...stored, user }, account);
  });

/**
 * Puts a stored login in use. False if there is none of this name.
 * @example
 * await useLogin(storage, 'https://login.example', 'work');
 */
export const useLogin = (storage: Storage, server: string, name: string): Promise<boolean> =>
  updateLogins(storage, server, (held) =>
    loginNamed(held, name) ? [{ ...held, current: name }, true] : [undefined, false],
  );

/**
 * After a person has signed out: puts the only other login in use. With several others, none is in use until one is
 * chosen. Returns the name of the login in use.
 * @internal
 */
export const leaveLogin = (storage: Storage, server: string, name: string): Promise<string | null> =>
  updateLogins(storage, server, (held) => {
    const { current } = held;
    if ((current !== null && current !== name) || loginNamed(held, name)) return [undefined, current];
    const [only, ...others] = Object.keys(held.logins);
    const next = only !== undefined && others.length === 0 ? only : null;
    return [{ ...held, current: next }, next];
  });

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
    return [left, undefined];
  });
