// The outbox: its guarantees when several workers run or one dies.

import { expect, test } from 'bun:test';
import { onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { templates } from '../../app.ts';
import { enqueueMail } from './outbox.ts';
import { anySlowAttempts, claimMail, listUnsent, urgentPriority } from './outbox-store.ts';
import type { Transport } from './transport.ts';
import { MailWorker } from './worker.ts';

const request = (t: TestApp, email: string) => t.ask('POST', '/magic_link', { json: { email } });

const addresses = (count: number) => Array.from({ length: count }, (_, n) => `person${n}@example.com`);

/** A transport that records recipients, slowly enough for other workers to interfere. */
function recording(): Transport & { readonly delivered: string[] } {
  const delivered: string[] = [];
  return {
    delivered,
    deliver: async (_id, recipient) => {
      // Other workers and the database get a turn.
      await new Promise(setImmediate);
      delivered.push(recipient);
    },
    close: () => undefined,
  };
}

const claimUrgent = (t: TestApp, now = t.ctx.clock()) => {
  const slots = { priority: urgentPriority, max_slow_attempts: anySlowAttempts };
  return claimMail(t.ctx.db.single, { now, lease_until: now + 8_000, ...slots });
};

const unsent = (t: TestApp) => listUnsent(t.ctx.db.read, { limit: 500 });

onBothDatabases('outbox', (open) => {
  const t = fresh(open);

  test('several workers on one database deliver each mail once', async () => {
    for (const email of addresses(60)) await request(t, email);
    const other = await open({ beside: t });
    const transport = recording();
    const workers = [t, t, other, other].map((node) => new MailWorker(node.ctx, templates, transport));
    await until(async () => (await unsent(t)).length === 0, 'an empty outbox');
    for (const worker of workers) await worker.stop();
    expect(transport.delivered.sort()).toEqual(addresses(60).sort());
  });

  test('a mail claimed by a dead worker is sent by another one after the lease expired, and not before', async () => {
    await request(t, 'ada@example.com');
    expect(await claimUrgent(t)).toHaveLength(1);
    const transport = recording();
    const worker = new MailWorker(t.ctx, templates, transport);
    await request(t, 'bob@example.com');
    worker.wake();
    await until(async () => (await unsent(t)).length === 1, 'one mail left in the outbox');
    expect(transport.delivered).toEqual(['bob@example.com']);
    t.pass(9);
    worker.wake();
    await until(() => transport.delivered.length === 2, 'two delivered mails');
    expect(transport.delivered).toEqual(['bob@example.com', 'ada@example.com']);
    await worker.stop();
  });

  const mailTo = (recipient: string, template = 'sign_in') => ({
    ...{ template, recipient, recipientKey: recipient, reference: 'gone' },
    expiresAt: t.ctx.clock() + 60_000,
  });

  test('a mail with a missing row becomes a dead letter, one with an unknown template waits for a node that has it, and neither delays others', async () => {
    await t.ctx.db.transaction(async (tx) => {
      await enqueueMail(t.ctx, tx, mailTo('a@x.example'));
      await enqueueMail(t.ctx, tx, mailTo('b@x.example', 'other'));
    });
    await request(t, 'ada@example.com');
    const transport = recording();
    const worker = new MailWorker(t.ctx, templates, transport);
    await until(async () => (await unsent(t)).every((mail) => mail.last_error !== null), 'one sent mail');
    await worker.stop();
    expect(transport.delivered).toEqual(['ada@example.com']);
    const states = (await unsent(t)).map((mail) => [mail.template, mail.last_error, mail.dead_at !== null]);
    expect(states.toSorted()).toEqual([
      ['other', 'unknown template', false],
      ['sign_in', 'no longer needed', true],
    ]);
  });
});

test('a worker renews the lease of a mail that takes long, and one that stops waits for its delivery', async () => {
  const t = await openApp('sqlite');
  await request(t, 'ada@example.com');
  const [begun, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const deliver = () => {
    begun.resolve();
    return finished.promise;
  };
  const worker = new MailWorker(t.ctx, templates, { deliver, close: () => undefined });
  const leased = async () => Number((await unsent(t))[0]?.next_attempt_at);
  await begun.promise;
  const first = await leased();
  t.pass(2.5);
  await until(async () => (await leased()) > first, 'the renewal');
  const stopped = worker.stop();
  finished.resolve();
  await stopped;
  expect(await unsent(t)).toEqual([]);
});
