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
  macBeforeNext,
  noMac,
  reseal,
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

const emptyChain = {
  ...{ base_seq: 0, base_mac: noMac, head_seq: 0, head_mac: noMac, head_at: 0, oldest_at: null },
  ...{ seal: noMac, counted: 0, counted_seq: 0, count_seal: '' },
};

const unsealed = (seq: number, user_id = 'usr_a'): Omit<EventRow, 'mac'> => ({
  ...{ id: `evt_${user_id}${seq}`, user_id, seq, type: seq === 1 ? 'account_created' : 'login' },
  ...{ session_id: seq % 2 ? `ses_${seq}` : null, user_agent: seq % 3 ? 'curl' : null },
  ...{ ip_address: '192.0.2.1', detail: '{"method":"passkey"}', created_at: 1000 + seq, once: null },
});

/** The log with its next event, as the service writes it. */
function grown({ chain, events }: Log, keys: KeyRing = both): Log {
  const next = unsealed(chain.head_seq + 1, chain.user_id);
  const mac = sealEvent(keys, next, macBeforeNext(keys, chain));
  const head = { head_seq: next.seq, head_mac: mac, head_at: next.created_at };
  return { chain: reseal(keys, { ...chain, ...head }), events: [...events, { ...next, mac }] };
}

/** A log of `count` events, the first half sealed with the older key, of which the first `swept` are deleted. */
function makeLog(count: number, swept = 0, user_id = 'usr_a'): Log {
  let log: Log = { chain: { ...emptyChain, user_id }, events: [] };
  for (let seq = 1; seq <= count; seq++) log = grown(log, seq * 2 <= count ? older : both);
  const base = { base_seq: swept, base_mac: log.events[swept - 1]?.mac ?? noMac };
  return { chain: reseal(both, { ...log.chain, ...base }), events: log.events.slice(swept) };
}

function audit({ chain, events }: Log, keys: KeyRing = both): Audit {
  const auditor = new Auditor(keys, chain);
  for (const event of events.toSorted((a, b) => a.seq - b.seq)) auditor.take(event);
  return auditor.finish();
}
const findings = (log: Log, keys = both) =>
  audit(log, keys).findings.map(({ problem, where }) => `${problem}: ${where}`);

const change = (log: Log, index: number, fields: Partial<EventRow>): Log => ({
  ...log,
  events: log.events.with(index, { ...log.events[index]!, ...fields }),
});
const changeChain = ({ chain, events }: Log, fields: Partial<ChainRow>): Log => ({
  chain: { ...chain, ...fields },
  events,
});

const size = fc
  .integer({ min: 3, max: 12 })
  .chain((count) => fc.record({ count: fc.constant(count), swept: fc.integer({ min: 0, max: count - 3 }) }));

test('an audit of an intact log, however much was swept from its start, finds nothing, but any change to any field of any event', () => {
  const fields = ['id', 'type', 'session_id', 'ip_address', 'user_agent', 'detail', 'created_at'] as const;
  fc.assert(
    fc.property(
      size,
      fc.nat(),
      fc.constantFrom(...fields, 'once' as const, 'mac' as const, 'user_id' as const),
      fc.string(),
      ({ count, swept }, at, field, text) => {
        const log = makeLog(count, swept);
        expect(audit(log)).toMatchObject({ findings: [], events: count - swept, retired: 0 });
        const index = at % log.events.length;
        const event = log.events[index]!;
        const value = field === 'created_at' ? event.created_at + 1 : text;
        fc.pre(event[field] !== value);
        // If the changed event names a retired key, its successor or the end of the log reveals the change.
        expect(findings(change(log, index, { [field]: value })).join()).toContain('changed: event');
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
      const [first, last] = [swept + start + 1, swept + start + many];
      const where = many === 1 ? `event ${first}` : `events ${first}-${last}`;
      expect(findings({ ...log, events: log.events.toSpliced(start, many) })).toContain(`removed: ${where}`);
    }),
  );
});

const whole = makeLog(6);
const swept = makeLog(6, 2);
const others = makeLog(6, 0, 'usr_b');
const [third, fourth] = [whole.events[2]!, whole.events[3]!];
const withEvent = (log: Log, fields: Partial<EventRow>): Log => ({
  ...log,
  events: [...log.events, { ...log.events[0]!, id: 'evt_x', ...fields }],
});
const withoutLast = changeChain(
  { ...whole, events: whole.events.slice(0, 4) },
  { head_seq: 4, head_mac: fourth.mac, head_at: fourth.created_at },
);
const ends = 'end changed: the record of the ends of the log';
const tampered: [string, Log, string[]][] = [
  ...[0, 1, 2, 7, 8].map((seq): [string, Log, string[]] => [
    `an event ${seq} added to events 3-6`,
    withEvent(swept, { seq }),
    [`added: event ${seq}`],
  ]),
  [
    'an event between others',
    withEvent(
      { ...whole, events: whole.events.map((one) => (one.seq < 4 ? one : { ...one, seq: one.seq + 1 })) },
      { seq: 4 },
    ),
    ['changed: event 4', 'changed: event 5', 'changed: event 6', 'added: event 7'],
  ],
  [
    'swapped events that keep their MACs',
    change(change(whole, 2, { ...fourth, seq: 3, mac: third.mac }), 3, { ...third, seq: 4, mac: fourth.mac }),
    ['changed: event 3', 'changed: event 4'],
  ],
  ['removed newest events and ends to match', withoutLast, [ends]],
  ['that, without a seal', changeChain(withoutLast, { seal: noMac }), [ends]],
  [
    'removed oldest events and ends to match',
    { chain: { ...whole.chain, base_seq: 2, base_mac: swept.chain.base_mac }, events: swept.events },
    [ends],
  ],
  ['events copied from another account', { ...whole, events: others.events }, ['changed: event 6']],
  [
    'ends copied from another account',
    { ...whole, chain: { ...others.chain, user_id: 'usr_a' } },
    [ends, 'changed: event 6'],
  ],
  [
    'an event sealed with an unknown key',
    change(whole, 4, { type: 'x', mac: sealEvent(parseKeyRing(generateKey()), fourth, third.mac) }),
    ['changed: event 6'],
  ],
  [
    'an event without a MAC',
    change(whole, 4, { type: 'x', mac: noMac }),
    ['changed: event 5', 'changed: event 6'],
  ],
];
test.each(tampered)('an audit finds %s', (_, log, expected) => {
  expect(findings(log)).toEqual(expected);
});

test('an audit finds a log that was emptied and then continued, by its first event', () => {
  const event = { ...unsealed(1), type: 'login' };
  const mac = sealEvent(both, event, noMac);
  const chain = reseal(both, { ...makeLog(1).chain, head_mac: mac });
  expect(findings({ chain, events: [{ ...event, mac }] })[0]).toStartWith(
    'removed: everything before event 1',
  );
});

test('events that follow a truncated log do not hide that: the next one says so for good', () => {
  const continued = (log: Log) => grown(grown(log));
  for (const seal of [noMac, whole.chain.seal, makeLog(4, 1).chain.seal])
    expect(findings(continued(changeChain(withoutLast, { seal })))).toEqual(['end changed: before event 5']);
  // An unknown key may be a retired one.
  const relabelled = changeChain(withoutLast, { seal: `AAAAAAA.${whole.chain.seal.split('.')[1]}` });
  expect(audit(continued(relabelled))).toMatchObject({ findings: [], retired: 1 });
});

test('events under a retired key are counted separately from changed events', () => {
  const log = makeLog(8);
  const retired = audit(log, newer);
  expect(retired).toMatchObject({ findings: [], events: 8, retired: 4 });
  expect([...retired.retiredKeys]).toEqual([older.signing.id.toString('base64url')]);
  expect(audit(log, older)).toMatchObject({ findings: [], retired: 5 });
  const changed = audit(change(log, 6, { type: 'logout' }), newer);
  expect(changed).toMatchObject({ findings: [{ problem: 'changed', where: 'event 7' }], retired: 4 });
});

test('different events never have the same bytes under the MAC', () => {
  const macs = [
    { ip_address: 'a', user_agent: 'b' },
    { ip_address: 'a,b', user_agent: null },
    { ip_address: 'a","b', user_agent: null },
    { ip_address: null, user_agent: 'a' },
    { ip_address: 'null', user_agent: 'a' },
    { ip_address: '', user_agent: 'a' },
  ].map((fields) => sealEvent(both, { ...unsealed(1), ...fields }, noMac));
  expect(new Set(macs).size).toBe(macs.length);
});

const detail = '{"fields":"all"}';
const amended = (log: Log, seq: number, keys = both) =>
  amendEvent(
    keys,
    log.chain,
    log.events.slice(Math.max(0, log.events.findIndex((one) => one.seq === seq) - 1)),
    seq,
    detail,
  );

test('amending an event leaves the log intact, changes only that event and hides no earlier change', () => {
  fc.assert(
    fc.property(size, fc.nat(), ({ count, swept }, at) => {
      const log = makeLog(count, swept);
      const index = at % log.events.length;
      const { chain, events } = amended(log, swept + index + 1)!;
      const after = { chain: reseal(both, chain), events: [...log.events.slice(0, index), ...events] };
      expect(audit(after)).toMatchObject({ findings: [], events: count - swept, retired: 0 });
      const without = ({ events }: Log) => events.map(({ mac, ...event }) => event);
      expect(without(after)).toEqual(without(change(log, index, { detail })));
      if (index > 0)
        expect(findings(change(after, 0, { type: 'logout' }))).toContain(`changed: event ${swept + 1}`);
    }),
  );
});

const logged = makeLog(8, 2);
const unverified: [string, Log, KeyRing?][] = [
  ['the event was changed', change(logged, 2, { type: 'logout' })],
  ['a later event was changed', change(logged, 3, { detail: null })],
  ['the last event has no MAC', change(logged, 5, { mac: noMac })],
  ['a later event has the MAC of another', change(logged, 4, { mac: logged.events[3]!.mac })],
  ['a later event is missing', { ...logged, events: logged.events.toSpliced(3, 1) }],
  ['the last event is missing', { ...logged, events: logged.events.slice(0, -1) }],
  ['the start was moved', changeChain(logged, { base_seq: 1 })],
  ['the seal is missing', changeChain(logged, { seal: noMac })],
  ['a key is missing', makeLog(12, 2), newer],
];
test.each(unverified)(
  'an event is not amended, nor later ones sealed again, if %s',
  (_, log, keys = both) => {
    expect(amended(log, 5, keys)).toBeUndefined();
  },
);
