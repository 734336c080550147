import { timingSafeEqual } from 'node:crypto';
import type { LogKeys, ServerKey } from '../../platform/crypto/primitives.ts';
import type { Tables } from '../../platform/database/schema.ts';

/** Without its position, which is not sealed. */
export type EventRow = Omit<Tables['events'], 'position'>;
export type ChainRow = Tables['event_chains'];

/** The MAC "before" the first event of a log. */
export const noMac = '';

/** A list as JSON, so that different lists never have the same bytes. @see RFC 8259 */
const bytesOf = (fields: readonly (string | number | null)[]): Buffer => Buffer.from(JSON.stringify(fields));

const eventBytes = (event: Omit<EventRow, 'mac'>, macBefore: string): Buffer =>
  bytesOf([
    macBefore,
    event.user_id,
    event.seq,
    event.id,
    event.type,
    event.session_id,
    event.ip_address,
    event.user_agent,
    event.detail,
    event.created_at,
    event.once,
  ]);

const chainBytes = (chain: ChainRow): Buffer =>
  bytesOf([chain.user_id, chain.base_seq, chain.base_mac, chain.head_seq, chain.head_mac, chain.head_at]);

const eventLabel = 'security log event';
const chainLabel = 'security log chain';

const signed = (key: ServerKey, label: string, bytes: Buffer): string =>
  `${key.id.toString('base64url')}.${key.mac(label, bytes).toString('base64url')}`;

/** The MAC of an event: the key's id, a dot, and HMAC-SHA-256 over all fields and the MAC before it. */
export const sealEvent = (keys: LogKeys, event: Omit<EventRow, 'mac'>, macBefore: string): string =>
  signed(keys.signing, eventLabel, eventBytes(event, macBefore));

/** The seal is a MAC over both ends. Without it, removing the newest events would go unnoticed. */
export const reseal = (keys: LogKeys, chain: ChainRow): ChainRow & { readonly seen: string } => ({
  ...chain,
  seal: signed(keys.signing, chainLabel, chainBytes(chain)),
  seen: chain.seal,
});

/** The id of the server key that made a MAC. */
export const sealingKeyOf = (mac: string): string => mac.split('.')[0]!;

/** `retired`: made with a key that is not configured, so it cannot be verified. */
export type Check = 'good' | 'changed' | 'retired';

function check(keys: LogKeys, label: string, bytes: Buffer, mac: string): Check {
  if (mac === noMac) return 'changed';
  const [id = '', value = ''] = mac.split('.');
  const key = keys.find(Buffer.from(id, 'base64url'));
  if (!key) return 'retired';
  const expected = Buffer.from(signed(key, label, bytes));
  const given = Buffer.from(`${id}.${value}`);
  return expected.length === given.length && timingSafeEqual(expected, given) ? 'good' : 'changed';
}

/** Verifies the seal over both ends, which a chain gets with its first event. */
const checkEnds = (keys: LogKeys, chain: ChainRow): Check =>
  chain.seal === '' && chain.head_seq === 0 ? 'good' : check(keys, chainLabel, chainBytes(chain), chain.seal);

const broken = (mac: string): string => `broken ${mac}`;
const unchecked = (mac: string): string => `unchecked ${mac}`;

/**
 * What the next event takes as the MAC before it. If the seal over the ends does not verify, or cannot be verified, the
 * next event says so for good: no new seal can make a truncated log look intact.
 */
export function macBeforeNext(keys: LogKeys, chain: ChainRow): string {
  const ends = checkEnds(keys, chain);
  if (ends === 'changed') return broken(chain.head_mac);
  return ends === 'retired' ? unchecked(chain.head_mac) : chain.head_mac;
}

/**
 * Replaces the detail of an event, and seals it and every event after it again. `rows` are those from the one
 * before it to the head. Undefined if one of them does not verify: what may be tampered with gets no new
 * seal.
 */
export function amendEvent(
  keys: LogKeys,
  chain: ChainRow,
  rows: readonly EventRow[],
  seq: number,
  detail: string,
): { readonly chain: ChainRow; readonly events: readonly EventRow[] } | undefined {
  const events = rows.filter((row) => row.seq >= seq);
  const isFirst = seq === chain.base_seq + 1;
  const macBefore = isFirst ? chain.base_mac : (rows.find((row) => row.seq === seq - 1)?.mac ?? noMac);
  const macs = [macBefore, ...events.map(({ mac }) => mac)];
  const isIntact =
    checkEnds(keys, chain) === 'good' &&
    events.length === chain.head_seq - seq + 1 &&
    events.at(-1)?.mac === chain.head_mac &&
    events.every(
      (event, index) =>
        event.seq === seq + index &&
        check(keys, eventLabel, eventBytes(event, macs[index]!), event.mac) === 'good',
    );
  if (!isIntact) return undefined;
  let mac = macBefore;
  const sealed = events.map((event) => {
    const next = event.seq === seq ? { ...event, detail } : event;
    mac = sealEvent(keys, next, mac);
    return { ...next, mac };
  });
  return { chain: { ...chain, head_mac: mac }, events: sealed };
}

/** A defect that an audit found in a log. `where` names events by their sequence numbers. */
export interface ChainDefect {
  readonly problem: 'changed' | 'removed' | 'added' | 'end changed' | 'no chain';
  readonly where: string;
}

/** The result of auditing one log. No findings and nothing retired: the log is intact. */
export interface Audit {
  readonly findings: ChainDefect[];
  events: number;
  /** How many events and seals were made with a key that is neither in the ring nor among the retired keys. */
  retired: number;
  /** The ids of the keys they name. */
  readonly retiredKeys: Set<string>;
}

const numbers = (from: number, to: number): string =>
  from === to ? `event ${from}` : `events ${from}-${to}`;

/** Verifies a log from its base to its head: call `take` with each event in order, then `finish`. */
export class Auditor {
  readonly audit: Audit = { findings: [], events: 0, retired: 0, retiredKeys: new Set() };
  readonly #keys: LogKeys;
  readonly #chain: ChainRow;
  #seq: number;
  /** Undefined right after a gap, where the MAC before is unknown. */
  #mac: string | undefined;

  constructor(keys: LogKeys, chain: ChainRow) {
    this.#keys = keys;
    this.#chain = chain;
    this.#seq = chain.base_seq;
    this.#mac = chain.base_mac;
    const ends = checkEnds(keys, chain);
    if (ends === 'changed') this.#found('end changed', 'the record of the ends of the log');
    if (ends === 'retired') this.#retired(chain.seal);
  }

  take(event: EventRow): void {
    this.audit.events += 1;
    const expected = this.#seq + 1;
    if (event.seq <= this.#chain.base_seq) {
      this.#found('added', numbers(event.seq, event.seq));
      return;
    }
    if (event.seq > this.#chain.head_seq) this.#found('added', numbers(event.seq, event.seq));
    else if (event.seq > expected) {
      this.#found('removed', numbers(expected, event.seq - 1));
      this.#mac = undefined;
    }
    if (event.seq <= this.#chain.head_seq) this.#checkEvent(event);
    this.#seq = event.seq;
    this.#mac = event.mac;
  }

  #checkEvent(event: EventRow): void {
    const checkAfter = (macBefore: string): Check =>
      check(this.#keys, eventLabel, eventBytes(event, macBefore), event.mac);
    const before = this.#mac ?? noMac;
    const mac = checkAfter(before);
    if (mac === 'retired') this.#retired(event.mac);
    else if (mac === 'changed' && checkAfter(unchecked(before)) === 'good') this.audit.retired += 1;
    else if (mac === 'changed' && checkAfter(broken(before)) === 'good') {
      this.#found('end changed', `before event ${event.seq}`);
    } else if (event.mac === noMac || (mac === 'changed' && this.#mac !== undefined)) {
      this.#found('changed', numbers(event.seq, event.seq));
    }
    if (event.seq === 1 && event.type !== 'account_created') {
      this.#found('removed', 'everything before event 1: a log starts with account_created');
    }
  }

  finish(): Audit {
    const { head_seq, head_mac } = this.#chain;
    if (this.#seq < head_seq) this.#found('removed', numbers(this.#seq + 1, head_seq));
    else if (this.#seq === head_seq && head_mac === unchecked(this.#mac ?? noMac)) this.audit.retired += 1;
    else if (this.#seq === head_seq && this.#mac !== head_mac) {
      this.#found('changed', numbers(head_seq, head_seq));
    }
    return this.audit;
  }

  #found(problem: ChainDefect['problem'], where: string): void {
    const isKnown = this.audit.findings.some((one) => one.problem === problem && one.where === where);
    if (!isKnown) this.audit.findings.push({ problem, where });
  }

  #retired(mac: string): void {
    this.audit.retired += 1;
    this.audit.retiredKeys.add(sealingKeyOf(mac));
  }
}

// How many events all logs have had. An attacker who sets one log back to an earlier state leaves a chain that is intact, but fewer
// events than were counted. Each transaction adds its events to one of several totals, so that no two wait for each other, and to the
// one that has counted least, so that setting back a single total takes back the events of many accounts.

type Fields = Parameters<typeof bytesOf>[0];

/**
 * What continues a count that is not good says so for good: no new seal can hide that it was changed (`changed`), or that it could not be
 * checked because a key is missing (`retired`).
 */
const marks = { good: [], changed: ['broken'], retired: ['unchecked'] } as const;

const sealCount = (keys: LogKeys, label: string, fields: Fields, state: Check): string =>
  signed(keys.signing, label, bytesOf([...fields, ...marks[state]]));

function checkCount(keys: LogKeys, label: string, fields: Fields, seal: string): Check {
  const good = check(keys, label, bytesOf(fields), seal);
  if (good !== 'changed') return good;
  const isUnchecked = check(keys, label, bytesOf([...fields, ...marks.retired]), seal) === 'good';
  return isUnchecked ? 'retired' : 'changed';
}

type TotalRow = Tables['log_totals'];

const totalLabel = 'security log total';

export const checkTotal = (keys: LogKeys, { bucket, total, seal }: TotalRow): Check =>
  total === 0 && seal === '' ? 'good' : checkCount(keys, totalLabel, [bucket, total], seal);

const countLabel = 'security log count';

type Count = Pick<ChainRow, 'counted' | 'counted_seq' | 'count_seal'>;

const countFields = (chain: Pick<ChainRow, 'user_id' | 'counted' | 'counted_seq'>): Fields => {
  return [chain.user_id, chain.counted, chain.counted_seq];
};

/** Whether a log still has the event that was counted last. */
export function checkChainCount(keys: LogKeys, chain: ChainRow): Check {
  if (chain.counted === 0 && chain.count_seal === '') return 'good';
  if (chain.head_seq < chain.counted_seq) return 'changed';
  return checkCount(keys, countLabel, countFields(chain), chain.count_seal);
}

/** The count of a chain with its next event, which has this number. */
export function nextCount(keys: LogKeys, chain: ChainRow, seq: number): Count {
  const next = { counted: chain.counted + 1, counted_seq: seq };
  const fields = countFields({ ...chain, ...next });
  return { ...next, count_seal: sealCount(keys, countLabel, fields, checkChainCount(keys, chain)) };
}

/** A total with so many more events. */
export function nextTotal(keys: LogKeys, row: TotalRow, added: number): TotalRow {
  const { bucket } = row;
  const total = row.total + added;
  return { bucket, total, seal: sealCount(keys, totalLabel, [bucket, total], checkTotal(keys, row)) };
}

/** What an event says besides its type. Stored as JSON. */
export type EventDetail = Readonly<Record<string, string | number>>;

export const detailOf = (row: { readonly detail: string | null }): Record<string, string | number> =>
  row.detail === null ? {} : (JSON.parse(row.detail) as Record<string, string | number>);
