// The capacity model: the cost of a number of accounts, from measured unit costs and the assumptions below.

import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';

/** The cost of one request. */
export interface RequestCost {
  /** CPU seconds of the service. */
  readonly service: number;
  /** CPU seconds of a database with its own processes; 0 on SQLite. */
  readonly database: number;
  /** Bytes written to disk by the service, or on PostgreSQL to the write-ahead log. */
  readonly written: number;
}

export interface UnitCosts {
  readonly requests: ReadonlyMap<string, RequestCost>;
  /** Bytes of a row with its indexes, by table. */
  readonly rows: ReadonlyMap<string, number>;
}

/** The numbers of accounts to report. SQLite is one file on one machine. */
const accountsOn = {
  sqlite: [10_000, 1_000_000],
  postgres: [10_000, 1_000_000, 10_000_000, 100_000_000],
} as const;

/** Load of the busiest hour relative to the average. */
const peakFactor = 3;
const secondsOfDay = 86_400;
const eventRetentionDays = 400;
const daysOfMonth = 30;

/** Sign-ins of an account in a month. */
const mailLogins = 2;
const passkeyLogins = 1;
const deviceLogins = 2;
const pollsOfDeviceLogin = 6;

/** The session of a device is deleted 31 days after its idle timeout of 30 days. */
const deviceSessionRowDays = 75;
/** A browser session is deleted 31 days after its absolute lifetime of 180 days. */
const browserSessionRowDays = 211;
const logins = mailLogins + passkeyLogins + deviceLogins;
/** One for each sign-in, one for each approval, and one other. */
const eventsOfMonth = logins + deviceLogins + 1;

/** The share of accounts in use on a day, and their requests on that day. */
const activeShare = 0.3;
const activeDay = { calls: 100, callsThatStoreTheUse: 40, refreshes: 4 };

const rowsOfAccount: Readonly<Record<string, number>> = {
  users: 1,
  organizations: 1,
  memberships: 1,
  passkeys: 1,
  event_chains: 1,
  sessions:
    (deviceLogins * deviceSessionRowDays + (mailLogins + passkeyLogins) * browserSessionRowDays) /
    daysOfMonth,
  events: (eventsOfMonth * eventRetentionDays) / daysOfMonth,
};

/** Requests of an account on an average day, by the names of the steps that were measured. */
const requestsOfDay: Readonly<Record<string, number>> = {
  'GET /me': activeShare * (activeDay.calls - activeDay.callsThatStoreTheUse),
  'GET /me, storing the use': activeShare * activeDay.callsThatStoreTheUse,
  'POST /refresh': activeShare * activeDay.refreshes,
  'POST /magic_link': mailLogins / daysOfMonth,
  // More expensive than for an existing account.
  'POST /magic_link/verify, a new account': mailLogins / daysOfMonth,
  'POST /passkey/login/challenge': passkeyLogins / daysOfMonth,
  'POST /passkey/login': passkeyLogins / daysOfMonth,
  'POST /device': deviceLogins / daysOfMonth,
  'POST /token, too early': (deviceLogins * pollsOfDeviceLogin) / daysOfMonth,
  'POST /device/approve': deviceLogins / daysOfMonth,
  'POST /token': deviceLogins / daysOfMonth,
};

const reads = new Set(['GET /me', 'POST /passkey/login/challenge']);

const round = (value: number): string =>
  value >= 10 ? Math.round(value).toLocaleString('en') : value.toPrecision(2);

/** The results of the model, one line for each number of accounts. */
export function capacityLines(costs: UnitCosts, dialect: Dialect): string[] {
  const perSecond = Object.entries(requestsOfDay).map(([name, count]) => {
    const cost = costs.requests.get(name);
    if (!cost) throw new Error(`${name} was not measured`);
    return { name, cost, rate: (count / secondsOfDay) * peakFactor };
  });
  const sum = (of: (request: (typeof perSecond)[number]) => number) =>
    perSecond.reduce((total, request) => total + of(request), 0);
  const bytes = (tables: readonly string[]) =>
    tables.reduce((total, table) => total + rowsOfAccount[table]! * (costs.rows.get(table) ?? 0), 0);
  const tables = Object.keys(rowsOfAccount);
  const rows = Object.values(rowsOfAccount).reduce((total, count) => total + count, 0);
  const database = sum(({ rate, cost }) => rate * cost.database);
  return accountsOn[dialect].map((count) =>
    [
      `${count.toLocaleString('en')} accounts: ${round((count * rows) / 1e6)} million rows`,
      `${round((count * bytes(tables)) / 1e9)} GB, of which events ${round((count * bytes(['events'])) / 1e9)} GB`,
      `at the peak ${round(count * sum(({ rate }) => rate))} requests/s`,
      `of which ${round(count * sum(({ name, rate }) => (reads.has(name) ? 0 : rate)))} write`,
      `${round((count * sum(({ rate, cost }) => rate * cost.written)) / 1e6)} MB/s written`,
      `${round(count * sum(({ rate, cost }) => rate * cost.service))} cores of the service`,
      ...(database > 0 ? [`${round(count * database)} of the database`] : []),
    ].join(', '),
  );
}
