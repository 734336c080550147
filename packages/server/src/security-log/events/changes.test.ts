// Changes that a session repeats within a minute share one event, in a log that stays intact.

import { expect, test } from 'bun:test';
import { addPasskey, newAuthenticator } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import {
  auditAll,
  countEvents,
  expectIntact,
  loggedEvents,
  logMore,
  patchMe,
  signedIn,
} from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';

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
        patchMe(
          n % 2 ? t : other,
          people[(n >> 1) % 2]!,
          (n >> 2) % 2 ? { name: `Ada ${n}` } : { avatar_url: `https://example.com/${n}` },
        ),
      ),
    ]);
    expect(devices).toHaveLength(20);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await t.ctx.db.read.run<{ seq: number }>('SELECT seq FROM events ORDER BY seq', []);
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, n) => n + 1));
    const changed = await loggedEvents(t, tokens, 'profile_changed');
    expect(new Set(changed.map(({ session_id }) => session_id)).size).toBe(2);
    const fields = changed.map(({ detail }) => detail.fields.split(' ').toSorted().join(' '));
    expect(fields).toEqual(['avatar_url name', 'avatar_url name']);
    expect(await auditAll(t)).toEqual({ problems: [], events: 45 });
  });

  test('changes of one type by one session within a minute share one event that lists all of them', async () => {
    const tokens = await t.login();
    const other = await t.login();
    const patch = (json: object, by: Tokens = tokens) => patchMe(t, by, json);
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

  test('a change gets its own event if more than 100 follow the first one, or if they were tampered with, so the damage stays detectable', async () => {
    const ada = await signedIn(t);
    const changedAfter = async (json: object) => {
      expect((await patchMe(t, ada, json)).status).toBe(200);
      return countEvents(t, 'profile_changed');
    };
    expect(await changedAfter({ name: 'B' })).toBe(1);
    await logMore(t, ada.userId, 100);
    expect(await changedAfter({ locale: 'en' })).toBe(1);
    await logMore(t, ada.userId, 1);
    expect(await changedAfter({ time_zone: 'Europe/Zurich' })).toBe(2);
    await logMore(t, ada.userId, 1);
    await expectIntact(t);
    await t.ctx.db.single.run("UPDATE events SET ip_address = '198.51.100.1' WHERE seq = 106", []);
    expect(await changedAfter({ locale: 'de' })).toBe(3);
    // The new event is intact and takes the changes that follow.
    expect(await changedAfter({ time_zone: 'Europe/Rome' })).toBe(3);
    expect((await auditAll(t)).problems).toEqual(['changed: event 106']);
  });
});
