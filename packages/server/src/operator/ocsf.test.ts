import { expect, test } from 'bun:test';
import { eventTypes } from '@latchkey/contract/events';
import type { EventType } from '../security-log/events/events.ts';
import { ocsfEvent } from './ocsf.ts';

const eventOf = (type: EventType) => ({
  position: 7,
  id: 'evt_1',
  user_id: 'usr_1',
  type,
  session_id: 'ses_1',
  ip_address: '192.0.2.1',
  user_agent: 'Firefox',
  detail: { reason: 'replaced' },
  created_at: '2026-01-31T12:00:00.000Z',
  seq: 3,
  mac: 'key.mac',
});

const actorOf = (type: EventType, detail: Record<string, string>) =>
  ocsfEvent({ ...eventOf(type), session_id: null, detail })['actor'];

test('the actor is who acted: the operator, a service or the user', () => {
  const operator = { app_name: 'latchkey-server' };
  expect(actorOf('account_disabled', { by: 'operator' })).toEqual(operator);
  expect(actorOf('account_disabled', { by: 'svc_1' })).toEqual({ app_uid: 'svc_1' });
  expect(actorOf('session_revoked', { reason: 'operator', by: 'svc_1' })).toEqual({ app_uid: 'svc_1' });
  expect(actorOf('all_sessions_revoked', { by: 'operator' })).toEqual(operator);
  expect(actorOf('key_removed', { reason: 'taken_over' })).toEqual(operator);
  expect(actorOf('run_ended', { reason: 'service_revoked' })).toEqual(operator);
  expect(actorOf('membership_changed', { by: 'service', service_id: 'svc_1' })).toEqual({ app_uid: 'svc_1' });
  expect(actorOf('session_revoked', { by: 'ses_2' })).toEqual({ user: { uid: 'usr_1' } });
});

const ids = { class: [3001, 3002], severity: [1, 2, 3, 4], status: [1, 2] };

test.each(eventTypes.map((type) => [type]))('%s has a class and an activity of the schema', (type) => {
  const event = ocsfEvent(eventOf(type)) as Record<string, number>;
  expect(ids.class).toContain(event['class_uid']!);
  expect(ids.severity).toContain(event['severity_id']!);
  expect(ids.status).toContain(event['status_id']!);
  expect(event['type_uid']).toBe(event['class_uid']! * 100 + event['activity_id']!);
  expect(String(event['activity_name'])).toMatch(/^[A-Z]/);
});

test('an event has its required attributes, its client and what the schema has no place for', () => {
  expect(ocsfEvent(eventOf('refresh_theft'))).toEqual({
    category_uid: 3,
    category_name: 'Identity & Access Management',
    class_uid: 3002,
    class_name: 'Authentication',
    activity_id: 5,
    activity_name: 'Service Ticket Renew',
    type_uid: 300205,
    type_name: 'Authentication: Service Ticket Renew',
    severity_id: 4,
    severity: 'High',
    status_id: 2,
    status: 'Failure',
    time: Date.UTC(2026, 0, 31, 12),
    metadata: {
      version: '1.3.0',
      product: { name: 'Latchkey', vendor_name: 'Latchkey', version: expect.stringMatching(/^\d/) },
      uid: 'evt_1',
      sequence: 7,
      event_code: 'refresh_theft',
    },
    user: { uid: 'usr_1' },
    service: { name: 'Latchkey' },
    session: { uid: 'ses_1' },
    actor: { user: { uid: 'usr_1' }, session: { uid: 'ses_1' } },
    src_endpoint: { ip: '192.0.2.1' },
    http_request: { user_agent: 'Firefox' },
    unmapped: { seq: 3, mac: 'key.mac', detail: { reason: 'replaced' } },
  });
});
