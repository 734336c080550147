// Which event of the log counts a failed sign-in.

import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { detailOf } from './detail.ts';
import * as store from './store.ts';

/** How many events about failed sign-ins an account gets per day (UTC); further ones are only counted in the metrics. */
export const maxFailureEventsPerDay = 20;

/** How far an event counts, so that an attack writes a bounded number of times, however long it lasts. */
export const maxFailuresCounted = 1000;

/** How long after its first failure an event counts further ones by the same method from the same network. */
const failureWindowMs = 3_600_000;

const dayMs = 86_400_000;

export const failureType = 'sign_in_failed';

/** Refused attempts to sign in to an account, and the network that they came from, as CIDR. */
export interface FailedSignIn {
  readonly userId: string;
  readonly method: string;
  readonly network: string;
  readonly client: ClientInfo;
  readonly times: number;
}

/**
 * Where failures are counted; undefined if they are not recorded. `counted` is the event that counts them, and `detail` the detail
 * of that with the failures; `freeSlot` is the `once` of a new event, and `firstDetail` its detail. Either is missing if it
 * needs a new event, or if the day has no room for another one.
 */
export async function findEntry(
  ctx: Context,
  on: Executor,
  { userId, method, network, times }: FailedSignIn,
) {
  const today = Math.floor(ctx.clock() / dayMs);
  const slots = JSON.stringify([today - 1, today].flatMap(slotsOf));
  const rows = await store.listOnce(on, { user_id: userId, slots });
  const since = ctx.clock() - failureWindowMs;
  const newestFirst = rows.toSorted((a, b) => b.seq - a.seq);
  const counted = newestFirst.find((row) => {
    const detail = detailOf(row);
    return row.created_at > since && detail['method'] === method && detail['network'] === network;
  });
  const count = counted ? Number(detailOf(counted)['count']) : 0;
  const freeSlot = slotsOf(today).find((slot) => rows.every(({ once }) => once !== slot));
  const isFull = counted ? count >= maxFailuresCounted : freeSlot === undefined;
  const detail = { method, network, count: Math.min(count + times, maxFailuresCounted) };
  const firstDetail = { ...detail, count: Math.min(times, maxFailuresCounted) };
  return isFull ? undefined : { counted, detail, firstDetail, freeSlot };
}

/** The values of `once` that the events of a day have, one each. */
const slotsOf = (day: number): string[] =>
  Array.from({ length: maxFailureEventsPerDay }, (_, slot) => `${failureType} ${day} ${slot}`);
