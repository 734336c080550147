import { timingSafeEqual } from 'node:crypto';
import type { LogKeys, ServerKey } from '../../platform/crypto/key-ring.ts';
import type { Tables } from '../../platform/database/schema.ts';

export type EventRow = Tables['events'];
export type ChainRow = Tables['event_chains'];

/** What stands in the place of a MAC where no event comes before. */
export const noMac = '';

/**
 * A list of texts, numbers and nulls as JSON: two different lists never give the same bytes.
 * @see RFC 8259
 */
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

const chainBytes = (chain: Omit<ChainRow, 'seal'>): Buffer =>
  bytesOf([
    chain.user_id,
    chain.unsealed,
    chain.base_seq,
    chain.base_mac,
    chain.head_seq,
    chain.head_mac,
    chain.head_at,
  ]);

const eventLabel = 'security log event';
const chainLabel = 'security log chain';

const signed = (key: ServerKey, label: string, bytes: Buffer): string =>
  `${key.id.toString('base64url')}.${key.mac(label, bytes).toString('base64url')}`;

/** The MAC of an event: the key's id, a dot, and HMAC-SHA-256 over all fields and the MAC before it. */
export const sealEvent = (keys: LogKeys, event: Omit<EventRow, 'mac'>, macBefore: string): string =>
  signed(keys.signing, eventLabel, eventBytes(event, macBefore));

/** The MAC over both ends of a chain, so that one without its newest events is told from a whole one. */
export const sealChain = (keys: LogKeys, chain: Omit<ChainRow, 'seal'>): string =>
  signed(keys.signing, chainLabel, chainBytes(chain));

/** `retired`: under a key that nobody named, so nobody can tell. `unsealed`: without a MAC. */
type Check = 'good' | 'changed' | 'retired' | 'unsealed';

function check(keys: LogKeys, label: string, bytes: Buffer, mac: string): Check {
  if (mac === noMac) return 'unsealed';
  const [id = '', value = ''] = mac.split('.');
  const key = keys.find(Buffer.from(id, 'base64url'));
  if (!key) return 'retired';
  const expected = Buffer.from(signed(key, label, bytes));
  const given = Buffer.from(`${id}.${value}`);
  return expected.length === given.length && timingSafeEqual(expected, given) ? 'good' : 'changed';
}

/** Whether the seal over both ends holds. Only the migration leaves one out, and only until the next event. */
function checkEnds(keys: LogKeys, chain: ChainRow): Check {
  const seal = check(keys, chainLabel, chainBytes(chain), chain.seal);
  const isFromBefore = chain.unsealed === chain.head_seq && chain.base_seq <= chain.unsealed;
  return seal === 'unsealed' && !isFromBefore ? 'changed' : seal;
}

const broken = (mac: string): string => `broken ${mac}`;
const unchecked = (mac: string): string => `unchecked ${mac}`;

/**
 * What stands for the MAC before in the next event. Where the seal does not hold, or nobody can tell, it says
 * so, for good: no new seal makes a log look whole that was cut.
 */
export function macBeforeNext(keys: LogKeys, chain: ChainRow): string {
  const ends = checkEnds(keys, chain);
  if (ends === 'changed') return broken(chain.head_mac);
  return ends === 'retired' ? unchecked(chain.head_mac) : chain.head_mac;
}

/**
 * Gives an event another detail and seals it anew, with every event after it. `events` are the ones from it to the head,
 * oldest first; `macBefore` is the MAC of the event before them. Undefined where anything there, or the seal of the
 * chain, does not hold under a key of the ring: what somebody may have changed never gets a fresh seal.
 */
export function amendEvent(
  keys: LogKeys,
  chain: ChainRow,
  macBefore: string,
  events: readonly EventRow[],
  detail: string,
): { readonly chain: ChainRow; readonly events: readonly EventRow[] } | undefined {
  if (checkEnds(keys, chain) !== 'good') return undefined;
  let before = macBefore;
  for (const [index, event] of events.entries()) {
    if (event.seq !== chain.head_seq - events.length + 1 + index) return undefined;
    if (check(keys, eventLabel, eventBytes(event, before), event.mac) !== 'good') return undefined;
    before = event.mac;
  }
  if (events.length === 0 || before !== chain.head_mac) return undefined;
  let mac = macBefore;
  const sealed = events.map((event, index) => {
    const next = index === 0 ? { ...event, detail } : event;
    mac = sealEvent(keys, next, mac);
    return { ...next, mac };
  });
  return { chain: { ...chain, head_mac: mac }, events: sealed };
}

/** What an audit found in one log; `where` names the events by their numbers. */
export interface ChainDefect {
  readonly problem: 'changed' | 'removed' | 'added' | 'end changed' | 'no chain';
  readonly where: string;
}

/** The outcome of an audit of one log. Empty findings and nothing unchecked: the log is whole. */
export interface Audit {
  readonly findings: ChainDefect[];
  events: number;
  /** From before logs were sealed. */
  unsealed: number;
  /** Events, and the seal of the chain, under a key that neither the ring nor the retired keys hold. */
  retired: number;
  /** The ids of those keys. */
  readonly retiredKeys: Set<string>;
}

const numbers = (from: number, to: number): string =>
  from === to ? `event ${from}` : `events ${from}-${to}`;

/** Follows a log from its base to its head: `take` each event in order, then `finish`. */
export class Auditor {
  readonly audit: Audit = { findings: [], events: 0, unsealed: 0, retired: 0, retiredKeys: new Set() };
  readonly #keys: LogKeys;
  readonly #chain: ChainRow;
  #seq: number;
  /** Undefined right behind a gap, where the MAC before is not known. */
  #mac: string | undefined;

  constructor(keys: LogKeys, chain: ChainRow) {
    this.#keys = keys;
    this.#chain = chain;
    this.#seq = chain.base_seq;
    this.#mac = chain.base_mac;
    const ends = checkEnds(keys, chain);
    if (ends === 'changed') this.#found('end changed', 'the record of both ends of the log');
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
    const isFromBefore = event.seq <= this.#chain.unsealed;
    const behind = (macBefore: string): Check =>
      check(this.#keys, eventLabel, eventBytes(event, macBefore), event.mac);
    const before = this.#mac ?? noMac;
    const mac = behind(before);
    if (isFromBefore && mac === 'unsealed') this.audit.unsealed += 1;
    else if (mac === 'retired') this.#retired(event.mac);
    else if (mac === 'changed' && behind(unchecked(before)) === 'good') this.audit.retired += 1;
    else if (mac === 'changed' && behind(broken(before)) === 'good') {
      this.#found('end changed', `before event ${event.seq}`);
    } else if (isFromBefore || mac === 'unsealed' || (mac === 'changed' && this.#mac !== undefined)) {
      this.#found('changed', numbers(event.seq, event.seq));
    }
    if (event.seq === 1 && !isFromBefore && event.type !== 'account_created') {
      this.#found('removed', 'what came before event 1: a log begins with the making of its account');
    }
  }

  finish(): Audit {
    const { head_seq, head_mac, unsealed } = this.#chain;
    if (this.#seq < head_seq) this.#found('removed', numbers(this.#seq + 1, head_seq));
    else if (this.#seq === head_seq && head_mac === unchecked(this.#mac ?? noMac)) this.audit.retired += 1;
    else if (this.#seq === head_seq && this.#mac !== head_mac && head_seq > unsealed) {
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
    this.audit.retiredKeys.add(mac.split('.')[0]!);
  }
}
