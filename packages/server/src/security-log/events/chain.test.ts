// An audit finds every change made to a log without its keys, and nothing in an intact log.

import { expect, test } from 'bun:test';
import fc from '#support/fc.ts';
import { generateKey, type KeyRing, parseKeyRing } from '../../platform/crypto/primitives.ts';
import {
  type Audit,
  Auditor,
  amendEvent,
  type ChainRow,
  type EventRow,
  noMac,
  sealChain,
  sealEvent,
} from './chain.ts';

const keyTexts = [generateKey(), generateKey()] as const;
const older = parseKeyRing(keyTexts[1]);
const both = parseKeyRing(keyTexts.join(','));
const newer = parseKeyRing(keyTexts[0]);

interface Log {
  readonly chain: ChainRow;
  readonly events: readonly EventRow[];
}

/** A log of `count` events, the first half sealed with the older key, of which the first `swept` are deleted. */
function makeLog(count: number, swept: number, userId = 'usr_a'): Log {
  let mac = noMac;
  const all: EventRow[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const event = {
      id: `evt_${userId}${seq}`,
      user_id: userId,
      type: seq === 1 ? 'account_created' : 'login',
      session_id: seq % 2 ? `ses_${seq}` : null,
      ip_address: '192.0.2.1',
      user_agent: seq % 3 ? 'curl' : null,
      detail: '{"method":"passkey"}',
      created_at: 1000 + seq,
      seq,
      once: null,
    };
    mac = sealEvent(seq * 2 <= count ? older : both, event, mac);
    all.push({ ...event, mac });
  }
  const ends = {
    user_id: userId,
    base_seq: swept,
    base_mac: all[swept - 1]?.mac ?? noMac,
    head_seq: count,
    head_mac: mac,
    head_at: 1000 + count,
    oldest_at: null,
    bucket: 0,
    counted: 0,
    counted_seq: 0,
    count_seal: '',
  };
  return { chain: { ...ends, seal: sealChain(both, ends) }, events: all.slice(swept) };
}

function audit({ chain, events }: Log, keys: KeyRing = both): Audit {
  const auditor = new Auditor(keys, chain);
  for (const event of [...events].sort((a, b) => a.seq - b.seq)) auditor.take(event);
  return auditor.finish();
}
const problems = (log: Log, keys = both) => [...new Set(audit(log, keys).findings.map((one) => one.problem))];

const size = fc
  .integer({ min: 3, max: 12 })
  .chain((count) => fc.record({ count: fc.constant(count), swept: fc.integer({ min: 0, max: count - 3 }) }));
const fields = [
  'id',
  'type',
  'session_id',
  'ip_address',
  'user_agent',
  'detail',
  'created_at',
  'once',
  'mac',
  'user_id',
] as const;

test('an intact log has no findings, however much was swept from its start', () => {
  fc.assert(
    fc.property(size, ({ count, swept }) => {
      const { findings, events, retired } = audit(makeLog(count, swept));
      expect({ findings, events, retired }).toEqual({
        findings: [],
        events: count - swept,
        retired: 0,
      });
    }),
  );
});

test('an audit finds any change to any field of any event', () => {
  fc.assert(
    fc.property(
      size,
      fc.nat(),
      fc.constantFrom(...fields),
      fc.string(),
      ({ count, swept }, at, field, text) => {
        const log = makeLog(count, swept);
        const index = at % log.events.length;
        const event = log.events[index]!;
        const value = field === 'created_at' ? event.created_at + 1 : text;
        fc.pre(event[field] !== value);
        const events = log.events.with(index, { ...event, [field]: value } as EventRow);
        // If the changed event names a retired key, its successor or the end of the log reveals the change.
        expect(problems({ ...log, events })).toContain('changed');
      },
    ),
  );
});

test('an audit finds any removed run of events and names their numbers', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.nat(), ({ count, swept }, from, length) => {
      const log = makeLog(count, swept);
      const start = from % log.events.length;
      const many = 1 + (length % (log.events.length - start));
      const events = log.events.toSpliced(start, many);
      const [first, last] = [swept + start + 1, swept + start + many];
      const where = many === 1 ? `event ${first}` : `events ${first}-${last}`;
      expect(audit({ ...log, events }).findings).toContainEqual({ problem: 'removed', where });
    }),
  );
});

test('an audit finds two swapped events, with or without their MACs', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.nat(), ({ count, swept }, a, b) => {
      const log = makeLog(count, swept);
      const [one, other] = [log.events[a % log.events.length]!, log.events[b % log.events.length]!];
      fc.pre(one !== other);
      const swap = (event: EventRow, withMac: boolean): EventRow => {
        if (event !== one && event !== other) return event;
        const taken = event === one ? other : one;
        return { ...taken, seq: event.seq, mac: withMac ? taken.mac : event.mac };
      };
      for (const withMac of [true, false]) {
        expect(problems({ ...log, events: log.events.map((event) => swap(event, withMac)) })).toContain(
          'changed',
        );
      }
    }),
  );
});

test('an audit finds an event inserted before, between or after the others', () => {
  const log = makeLog(6, 2);
  const copy = { ...log.events[0]!, id: 'evt_x' };
  for (const seq of [0, 1, 2, 7, 8])
    expect(problems({ ...log, events: [...log.events, { ...copy, seq }] })).toEqual(['added']);
  const shifted = log.events.map((event) => (event.seq > 3 ? { ...event, seq: event.seq + 1 } : event));
  expect(problems({ ...log, events: [...shifted, { ...copy, seq: 4 }] })).toContain('changed');
});

test('an audit finds a truncated log, even if the record of its ends was changed to match', () => {
  const log = makeLog(6, 0);
  const events = log.events.slice(0, 4);
  expect(audit({ ...log, events }).findings).toEqual([{ problem: 'removed', where: 'events 5-6' }]);
  const head = { head_seq: 4, head_mac: events[3]!.mac, head_at: events[3]!.created_at };
  expect(problems({ chain: { ...log.chain, ...head }, events })).toEqual(['end changed']);
  expect(problems({ chain: { ...log.chain, ...head, seal: noMac }, events })).toEqual(['end changed']);
  expect(
    problems({ chain: { ...log.chain, base_seq: 2, base_mac: events[1]!.mac }, events: log.events.slice(2) }),
  ).toEqual(['end changed']);
});

test('events and ends copied from another account do not verify', () => {
  const [mine, other] = [makeLog(4, 0), makeLog(4, 0, 'usr_b')];
  expect(problems({ chain: mine.chain, events: other.events })).toEqual(['changed']);
  expect(problems({ chain: { ...other.chain, user_id: 'usr_a' }, events: mine.events })).toContain(
    'end changed',
  );
});

test('an audit finds a log that was emptied and then continued, by its first event', () => {
  const { events, chain } = makeLog(1, 0);
  const event = { ...events[0]!, type: 'login' };
  const mac = sealEvent(both, event, noMac);
  const ends = { ...chain, head_mac: mac };
  const log = { chain: { ...ends, seal: sealChain(both, ends) }, events: [{ ...event, mac }] };
  expect(problems(log)).toEqual(['removed']);
});

test('events under a retired key are counted separately from changed events', () => {
  const log = makeLog(8, 0);
  const retired = audit(log, newer);
  expect(retired).toMatchObject({ findings: [], events: 8, retired: 4 });
  expect([...retired.retiredKeys]).toEqual([older.signing.id.toString('base64url')]);
  expect(audit(log, older)).toMatchObject({ findings: [], retired: 5 });
  const changed = log.events.with(6, { ...log.events[6]!, type: 'logout' });
  expect(audit({ ...log, events: changed }, newer)).toMatchObject({
    findings: [{ problem: 'changed', where: 'event 7' }],
    retired: 4,
  });
});

test('an event relabelled with an unknown key or none counts as changed, not as unverifiable', () => {
  const log = makeLog(6, 0);
  const withMac = (mac: string) =>
    problems({ ...log, events: log.events.with(4, { ...log.events[4]!, type: 'x', mac }) });
  const stranger = parseKeyRing(generateKey());
  expect(withMac(sealEvent(stranger, log.events[4]!, log.events[3]!.mac))).toEqual(['changed']);
  expect(withMac(noMac)).toEqual(['changed']);
});

test('different events never have the same bytes under the MAC', () => {
  const event = (fields: Partial<EventRow>) =>
    sealEvent(both, { ...makeLog(1, 0).events[0]!, ...fields }, noMac);
  const spellings = [
    event({ ip_address: 'a', user_agent: 'b' }),
    event({ ip_address: 'a,b', user_agent: null }),
    event({ ip_address: 'a","b', user_agent: null }),
    event({ ip_address: null, user_agent: 'a' }),
    event({ ip_address: 'null', user_agent: 'a' }),
    event({ ip_address: '', user_agent: 'a' }),
  ];
  expect(new Set(spellings).size).toBe(spellings.length);
});

/** The log after amending the event at an index, or unchanged if that is refused. */
function amended(log: Log, index: number, keys = both): { log: Log; refused: boolean } {
  const macBefore = log.events[index - 1]?.mac ?? log.chain.base_mac;
  const next = amendEvent(keys, log.chain, macBefore, log.events.slice(index), '{"fields":"all"}');
  if (!next) return { log, refused: true };
  const events = [...log.events.slice(0, index), ...next.events];
  return {
    log: { chain: { ...next.chain, seal: sealChain(keys, next.chain) }, events },
    refused: false,
  };
}

test('amending an event leaves the log intact and changes only that event', () => {
  fc.assert(
    fc.property(size, fc.nat(), ({ count, swept }, at) => {
      const log = makeLog(count, swept);
      const index = at % log.events.length;
      const { log: after, refused } = amended(log, index);
      expect(refused).toBe(false);
      expect(audit(after)).toMatchObject({ findings: [], events: count - swept, retired: 0 });
      const without = (events: readonly EventRow[]) => events.map(({ mac, ...event }) => event);
      expect(without(after.events)).toEqual(
        without(log.events.with(index, { ...log.events[index]!, detail: '{"fields":"all"}' })),
      );
    }),
  );
});

test('amending never hides a change: events that do not verify or cannot be verified are not sealed again', () => {
  const intact = makeLog(8, 2);
  const change = (index: number, field: Partial<EventRow>): Log => ({
    ...intact,
    events: intact.events.with(index, { ...intact.events[index]!, ...field }),
  });
  const logs = [
    change(2, { type: 'logout' }),
    change(3, { detail: null }),
    change(5, { mac: noMac }),
    change(4, { mac: intact.events[3]!.mac }),
    { ...intact, events: intact.events.toSpliced(3, 1) },
    { ...intact, events: intact.events.slice(0, -1) },
    { ...intact, chain: { ...intact.chain, base_seq: 1 } },
    { ...intact, chain: { ...intact.chain, seal: noMac } },
  ];
  for (const log of logs) {
    const { log: after, refused } = amended(log, 2);
    expect(refused).toBe(true);
    expect(problems(after)).not.toEqual([]);
  }
  // A change before the amended event stays detectable.
  expect(problems(amended(change(0, { type: 'logout' }), 2).log)).toContain('changed');
  expect(amended(makeLog(8, 0), 1, newer).refused).toBe(true);
  expect(amended(intact, intact.events.length).refused).toBe(true);
});
