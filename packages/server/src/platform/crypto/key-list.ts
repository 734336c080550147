// Changes to a key ring in the format of the setting and of the key file.

import { generateKey, parseKeyRing, type ServerKey } from './primitives.ts';

/** The id of a server key as seals and operators write it. */
export const keyIdOf = ({ id }: Pick<ServerKey, 'id'>): string => id.toString('base64url');

interface ListedKey {
  readonly id: string;
  /** The key itself: a secret. */
  readonly text: string;
}

/** @throws {Error} whose message gives the position of the key, never the key itself */
function keysOf(list: string): ListedKey[] {
  const texts = list.split(',').map((text) => text.trim());
  return parseKeyRing(list).all.map((key, index) => ({ id: keyIdOf(key), text: texts[index]! }));
}

const listOf = (keys: readonly ListedKey[]): string => keys.map(({ text }) => text).join(',');

/** Adds a new key at the end, where it verifies and does not sign. */
export function withNewKey(list: string): { readonly list: string; readonly id: string } {
  const longer = listOf([...keysOf(list), ...keysOf(generateKey())]);
  return { list: longer, id: keysOf(longer).at(-1)!.id };
}

/** Moves a key to the front, from where it signs; undefined when it is not in the ring. */
export function withSigningKey(list: string, id: string): string | undefined {
  const keys = keysOf(list);
  const key = keys.find((one) => one.id === id);
  return key && listOf([key, ...keys.filter((one) => one !== key)]);
}

/** Takes a key out that does not sign; undefined when it signs or is not in the ring. */
export function withoutKey(list: string, id: string) {
  const [signing, ...others] = keysOf(list);
  const key = others.find((one) => one.id === id);
  return key && { list: listOf([signing!, ...others.filter((one) => one !== key)]), retired: key.text };
}
