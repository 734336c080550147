// Changes that a session repeats within a minute share one event, in a log that stays intact.

import { expect, test } from 'bun:test';
import { addPasskey, newAuthenticator } from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { auditAll, countEvents, expectIntact, loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';
import { recordEvent } from './events.ts';

const run = (t: TestApp, text: string) => t.ctx.db.single.run(text, []);

const together = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

onBothDatabases('changes within a minute', (open) => {
  const t = fresh(open);

  test('parallel events of one account are all recorded, in one order, on any node', async () => {
    const other = await open({ beside: t });
    const tokens = await t.login();
    const people = [tokens, await t.login()];
    const [devices, answers] = await Promise.all([
      together(20, (n) => (n % 2 ? t : other).deviceLogin(tokens)),
      together(60, (n) =>
        (n % 2 ? t : other).ask('PATCH', '/me', {
          token: people[(n >> 1) % 2]!.access_token,
          json: (n >> 2) % 2 ? { name: `Ada ${n}` } : { avatar_url: `https://example.com/${n}` },
        }),
      ),
    ]);
    expect(devices).toHaveLength(20);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await t.ctx.db.read.run<{ seq: number }>('SELECT seq FROM events ORDER BY seq', []);
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, n) => n + 1));
    const changed = await loggedEvents(t, tokens, 'profile_changed');
    expect(new Set(changed.map(({ session_id }) => session_id)).size).toBe(2);
    for (const { detail } of changed)
      expect(detail.fields.split(' ').toSorted()).toEqual(['avatar_url', 'name']);
    expect(changed).toHaveLength(2);
    expect(await auditAll(t)).toEqual({ problems: [], events: 45 });
  });

  test('changes of one type by one session within a minute share one event that lists all of them', async () => {
    const tokens = await t.login();
    const other = await t.login();
    const patch = (json: object, { access_token: token }: Tokens = tokens) =>
      t.ask('PATCH', '/me', { token, json });
    const recorded = async () =>
      (await loggedEvents(t, tokens, 'profile_changed')).toReversed().map(({ detail }) => detail.fields);
    for (let n = 0; n < 5; n++) await patch({ name: `Ada ${n}` });
    const [first] = await loggedEvents(t, tokens);
    await patch({ locale: 'en' });
    expect((await loggedEvents(t, tokens))[0]).toEqual({ ...first!, detail: { fields: 'name locale' } });
    // Another type, another session and other events come between.
    await t.deviceLogin(tokens);
    await patch({ name: 'Beside' }, other);
    await patch({ time_zone: 'Europe/Zurich', name: 'Ada' });
    expect(await recorded()).toEqual(['name locale time_zone', 'name']);
    await expectIntact(t);
    t.pass(45);
    await patch({ avatar_url: 'https://example.com/a.png' });
    expect(await recorded()).toEqual(['name locale time_zone avatar_url', 'name']);
    t.pass(15);
    await patch({ name: 'Ada again' });
    expect(await recorded()).toEqual(['name locale time_zone avatar_url', 'name', 'name']);
    expect(await auditAll(t)).toMatchObject({ problems: [], events: 8 });
  });

  test('renaming a passkey repeatedly within a minute is one event with the last name; renaming several is one event with their ids', async () => {
    const tokens = await t.login();
    const token = tokens.access_token;
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) ids.push((await addPasskey(t, tokens, newAuthenticator(t))).body.id);
    const rename = (id: string | undefined, name: string) =>
      t.ask('PATCH', `/passkeys/${id}`, { token, json: { name } });
    const recorded = async () =>
      (await loggedEvents(t, tokens, 'passkey_renamed')).map(({ detail }) => detail);
    for (let n = 0; n < 5; n++) expect((await rename(ids[0], `key ${n}`)).status).toBe(200);
    expect(await recorded()).toEqual([{ passkey_id: ids[0]!, name: 'key 4' }]);
    await rename(ids[1], 'other');
    await rename(ids[0], 'last');
    expect(await recorded()).toEqual([{ passkey_ids: ids.join(' ') }]);
    t.pass(60);
    await rename(ids[1], 'later');
    expect((await recorded())[0]).toEqual({ passkey_id: ids[1]!, name: 'later' });
    await expectIntact(t);
  });

  test('a change gets its own event if the log was tampered with since, so the damage stays detectable', async () => {
    const tokens = await t.login();
    const patch = (json: object) => t.ask('PATCH', '/me', { token: tokens.access_token, json });
    await patch({ name: 'B' });
    await t.deviceLogin(tokens);
    await run(t, "UPDATE events SET ip_address = '198.51.100.1' WHERE seq = 5");
    await patch({ locale: 'en' });
    expect(await countEvents(t, 'profile_changed')).toBe(2);
    expect((await auditAll(t)).problems).toEqual(['changed: event 5']);
    // The new event is intact and takes the changes that follow.
    await patch({ time_zone: 'Europe/Zurich' });
    expect(await countEvents(t, 'profile_changed')).toBe(2);
    expect((await auditAll(t)).problems).toEqual(['changed: event 5']);
  });

  test('a change gets its own event if more than 100 events follow the first one', async () => {
    const tokens = await t.login();
    const { body: me } = await t.ask('GET', '/me', { token: tokens.access_token });
    const patch = (json: object) => t.ask('PATCH', '/me', { token: tokens.access_token, json });
    const others = (count: number) =>
      t.ctx.db.transaction(async (tx) => {
        for (let n = 0; n < count; n++) await recordEvent(t.ctx, tx, { type: 'login', userId: me.id });
      });
    await patch({ name: 'B' });
    await others(100);
    await patch({ locale: 'en' });
    expect(await countEvents(t, 'profile_changed')).toBe(1);
    await others(1);
    await patch({ time_zone: 'Europe/Zurich' });
    expect(await countEvents(t, 'profile_changed')).toBe(2);
    await expectIntact(t);
  });
});
