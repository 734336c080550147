import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { fresh } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { startUpkeep } from '../../app.ts';
import { setDisabled } from '../../identity/account/account.ts';
import { announceKeyEnds } from './keys.ts';

const ada = 'ada@example.com';
const day = 86_400;
const subject = 'An API key of your Latchkey account is about to expire';

onBothDatabases('the end of a key', (open, dialect) => {
  const app = fresh(open);

  const announcements = async () => {
    await announceKeyEnds(app.ctx);
    return (await app.mails()).filter((mail) => mail.subject === subject);
  };

  test('is announced once, 7 days before, by name and without a link, however many nodes run', async () => {
    const node = dialect === 'postgres' ? await open({ beside: app }) : app;
    const owner = await app.login(ada);
    const key = await createdKey(app, owner, { name: 'Nightly', expires_in: 30 * day });
    const atMark = Date.parse(key.expires_at) - 7 * day * 1000;
    app.pass((atMark - app.ctx.clock()) / 1000 - 60);
    expect(await announcements()).toEqual([]);
    app.pass(60);
    await Promise.all([app, node, app, node].map(({ ctx }) => announceKeyEnds(ctx)));
    const [mail, ...more] = await announcements();
    expect(more).toEqual([]);
    expect(mail?.to).toBe(ada);
    expect(mail?.text).toContain('API key: "Nightly"\nExpires: 20 Dec 2026, 12:34 UTC');
    expect(`${mail?.text}${mail?.html}`).not.toMatch(/href|http/);
    app.pass(3 * day);
    expect(await announcements()).toHaveLength(1);
  });

  test('is announced late rather than never, but not after it, nor that of a key of 14 days', async () => {
    const owner = await app.login(ada);
    await createdKey(app, owner, { name: 'late', expires_in: 20 * day });
    await createdKey(app, owner, { name: 'ended', expires_in: 19 * day - 1 });
    await createdKey(app, owner, { name: 'short', expires_in: 14 * day });
    app.pass(8 * day);
    expect(await announcements()).toEqual([]);
    app.pass(11 * day);
    expect(await announcements()).toMatchObject([{ text: expect.stringContaining('API key: "late"\n') }]);
  });

  test('is not announced of a key that was removed, even just before the mail, or of a disabled or deleted account', async () => {
    const owner = await app.login(ada);
    const long = { expires_in: 20 * day };
    const removed = await createdKey(app, owner, long);
    const removedLater = await createdKey(app, owner, long);
    await app.ask('DELETE', `/keys/${removed.id}`, { token: owner.access_token });
    await createdKey(app, await app.login('disabled@example.com'), long);
    await setDisabled(app.ctx, 'disabled@example.com', true);
    const deleted = await app.login('deleted@example.com');
    await createdKey(app, deleted, long);
    await app.ask('DELETE', '/me', { token: deleted.access_token });
    app.pass(13 * day + 1);
    await announceKeyEnds(app.ctx);
    const waiting = "SELECT id FROM outbox WHERE template = 'key_ends'";
    expect(await app.ctx.db.read.run(waiting, [])).toHaveLength(1);
    await app.ask('POST', '/revoke?scope=session', { token: removedLater.key });
    expect(await announcements()).toEqual([]);
  });

  test('is announced by every node within an hour of its time, in the languages of the account', async () => {
    const owner = await app.login(ada);
    await createdKey(app, owner, { name: 'Nachts', expires_in: 20 * day });
    app.pass(13 * day - 1_800);
    const { access_token: token } = await app.login(ada);
    await app.ask('PATCH', '/me', { token, json: { locale: 'de' } });
    const upkeep = startUpkeep(app.ctx);
    await app.untilWaiting(1, 300);
    app.pass(3_600);
    const german = 'Ein API-Schlüssel Ihres Kontos bei Latchkey läuft bald ab';
    const sent = async () => (await app.mails()).filter((mail) => [subject, german].includes(mail.subject));
    await until(async () => (await sent()).length === 2, 'the announcement in both languages');
    expect((await sent()).find((mail) => mail.subject === german)?.text).toContain('„Nachts“');
    await upkeep.stop();
  });
});
