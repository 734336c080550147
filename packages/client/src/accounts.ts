// Several logins on one server: adding one before its user is known, and choosing the one in use.

import {
  hasSameRefreshRequest,
  loginNamed,
  loginsAt,
  type PlacedLogin,
  placeLogin,
  type Storage,
  type StoredLogin,
  updateDocument,
  withLogin,
  withoutLogin,
  withServer,
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
  await updateDocument(storage, (document) => {
    const held = loginsAt(document, login.server);
    replaced = loginNamed(held, name);
    const next = withServer(document, login.server, withLogin(held, name, login));
    return { ...next, current_server: login.server };
  });
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
  await updateDocument(storage, (document) => {
    const held = loginsAt(document, login.server);
    // Another process may have refreshed it, or ended it.
    const stored = loginNamed(held, added);
    if (stored?.logged_in_at !== login.logged_in_at) return undefined;
    if (!user) return withServer(document, login.server, { ...held, current: added });
    const { next, ...place } = placeLogin(withoutLogin(held, added), { ...stored, user }, account);
    placed = place;
    return withServer(document, login.server, next);
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
  await updateDocument(storage, (document) => {
    const held = loginsAt(document, server);
    found = loginNamed(held, name) !== null;
    return found ? withServer(document, server, { ...held, current: name }) : undefined;
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
  await updateDocument(storage, (document) => {
    const held = loginsAt(document, server);
    current = held.current;
    if ((current !== null && current !== name) || loginNamed(held, name)) return undefined;
    const [only, ...others] = Object.keys(held.logins);
    current = only !== undefined && others.length === 0 ? only : null;
    return withServer(document, server, { ...held, current });
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
  updateDocument(storage, (document) => {
    let held = loginsAt(document, server);
    for (const [name, login] of Object.entries(ended)) {
      if (!hasSameRefreshRequest(loginNamed(held, name), login)) continue;
      held = withoutLogin(held, name);
      if (held.current === name) held = { ...held, current: null };
    }
    return withServer(document, server, held);
  });
