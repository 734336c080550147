import type { DisownedNotice } from '@latchkey/contract/notices';
import type { EndedSession } from '../sessions/ending.ts';

/** What the link of a notice has undone so far, as the notice's row stores it in JSON. */
export type Undone = Omit<DisownedNotice, 'kind' | 'approver'>;

/** Reads a stored outcome. Those of earlier releases count neither runs nor links. */
export const readUndone = (stored: string): Undone => ({
  runs_ended: 0,
  links_voided: 0,
  ...(JSON.parse(stored) as Omit<Undone, 'runs_ended' | 'links_voided'>),
});

type Named = Pick<EndedSession, 'client_name' | 'device_name'>;

const namesOf = (things: readonly Named[]): string[] =>
  things.flatMap(({ device_name, client_name }) => device_name ?? client_name ?? []);

/** `approvals` are those that no device or application had used yet, `links` how many were open. */
export function undoneOf(
  email: string | null,
  ended: readonly EndedSession[],
  approvals: readonly Named[],
  passkeys: readonly { readonly name: string }[],
  links: number,
): Undone {
  const of = (...kinds: EndedSession['kind'][]) => ended.filter(({ kind }) => kinds.includes(kind));
  const devices = [...of('device', 'app'), ...approvals];
  return {
    email,
    sessions_ended: of('browser').length,
    devices_ended: devices.length,
    device_names: namesOf(devices),
    passkeys_removed: passkeys.map(({ name }) => name),
    keys_removed: namesOf(of('key')),
    runs_ended: of('run').length,
    links_voided: links,
  };
}

/** What two uses of one link undid together. */
export const mergeUndone = (one: Undone | undefined, other: Undone): Undone =>
  one === undefined
    ? other
    : {
        email: other.email ?? one.email,
        sessions_ended: one.sessions_ended + other.sessions_ended,
        devices_ended: one.devices_ended + other.devices_ended,
        device_names: [...one.device_names, ...other.device_names],
        passkeys_removed: [...one.passkeys_removed, ...other.passkeys_removed],
        keys_removed: [...one.keys_removed, ...other.keys_removed],
        runs_ended: one.runs_ended + other.runs_ended,
        links_voided: one.links_voided + other.links_voided,
      };
