// A refresh retry from another place than the first request: a device that changed networks, or someone with a copy of the
// credentials.

import { expect, test } from 'bun:test';
import { disown, isLive, mailsTo, subjects } from '#support/account.ts';
import { type Ask, onBothDatabases, type TestApp } from '#support/app.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';

const ada = 'ada@example.com';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const from = (peer: string, userAgent = firefox): Ask => ({ peer, headers: { 'User-Agent': userAgent } });
const first = from('192.0.2.1');

const refresh = (app: TestApp, refresh_token: string, { peer, headers }: Ask) =>
  app.ask('POST', '/refresh', {
    json: { refresh_token },
    headers: { ...headers, 'Idempotency-Key': 'key' },
    ...(peer === undefined ? {} : { peer }),
  });

const eventsOf = async (app: TestApp, type: string, email = ada) =>
  loggedEvents(app, await app.login(email), type);

const noticesTo = async (app: TestApp, email = ada) =>
  (await mailsTo(app, email, subjects.repeatedElsewhere)).length;

onBothDatabases('a refresh retry', (open) => {
  const app = fresh(open);

  test('a refresh retry from another network or program gets the same tokens, an event and a notice', async () => {
    const cases: [Ask, string | undefined][] = [
      [from('192.0.2.250', firefox.replaceAll('140', '141.2')), undefined],
      [from('192.0.3.1'), 'network'],
      [from('192.0.2.1', 'curl/8.0'), 'program'],
      [{ peer: '192.0.2.1' }, 'program'],
      [from('198.51.100.1', 'curl/8.0'), 'network program'],
    ];
    const app = await open();
    for (const [n, [ask, changed]] of cases.entries()) {
      const email = `person-${n}@example.com`;
      const { refresh_token } = await app.login(email);
      const answer = await refresh(app, refresh_token, first);
      const repeated = await refresh(app, refresh_token, ask);
      expect([repeated.status, repeated.body.refresh_token]).toEqual([200, answer.body.refresh_token]);
      const details = (await eventsOf(app, 'refresh_retry_elsewhere', email)).map(({ detail }) => detail);
      const [noted, plain] = changed === undefined ? [[], 1] : [[{ changed }], 0];
      expect([ask, details, await noticesTo(app, email)]).toEqual([ask, noted, noted.length]);
      expect(await eventsOf(app, 'refresh_retry', email)).toHaveLength(plain);
    }
  });

  test('a refresh retry is compared with the first request for the same token, not with the sign-in or an earlier refresh', async () => {
    const { refresh_token } = await app.login(ada);
    const { body: second } = await refresh(app, refresh_token, first);
    const elsewhere = from('198.51.100.1', 'curl/8.0');
    for (const [place, notices] of [
      [elsewhere, 0],
      [elsewhere, 0],
      [first, 1],
    ] as const) {
      expect((await refresh(app, second.refresh_token, place)).status).toBe(200);
      expect(await noticesTo(app)).toBe(notices);
    }
  });

  test('repeated refresh retries send one notice per hour and network', async () => {
    // To a full hour: events are recorded once per hour.
    app.pass(3600 - ((app.ctx.clock() / 1000) % 3600));
    const { refresh_token } = await app.login(ada);
    const { body: next } = await refresh(app, refresh_token, first);
    const many = Array.from({ length: 16 }, (_, n) =>
      refresh(app, refresh_token, from('192.0.3.1', `curl${n}/8`)),
    );
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(await noticesTo(app)).toBe(1);
    const statements = app.statements.length;
    await refresh(app, refresh_token, from('192.0.3.200', 'wget/1'));
    expect(app.statements.slice(statements).filter((text) => /insert|event_chains/i.test(text))).toEqual([]);
    await refresh(app, refresh_token, from('198.51.100.1'));
    expect(await noticesTo(app)).toBe(2);
    expect(await eventsOf(app, 'refresh_retry_elsewhere')).toHaveLength(2);

    app.pass(3600);
    await refresh(app, next.refresh_token, first);
    await refresh(app, next.refresh_token, from('192.0.3.1', 'curl/8'));
    expect(await noticesTo(app)).toBe(3);
  });

  test('the notice of a refresh retry shows the second request, its link ends the session, and no row has a user agent', async () => {
    const kept = await app.login(ada);
    const tokens = await app.deviceLogin(kept);
    await refresh(app, tokens.refresh_token, first);
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM sessions', []));
    // Where and by which program the first request was sent, for comparison: a network and a hash.
    expect(rows).toContain('192.0.2.0/24');
    expect(rows).not.toContain('Firefox');
    const { body: copied } = await refresh(app, tokens.refresh_token, from('198.51.100.77', 'evil/1'));
    const [mail] = await mailsTo(app, ada, subjects.repeatedElsewhere);
    expect(mail?.text).toContain('IP address: 198.51.100.77');
    expect(mail?.text).toContain('User agent: "evil/1"');
    expect(await disown(app, ada, subjects.repeatedElsewhere)).toMatchObject({
      status: 200,
      body: { kind: 'refresh_repeated_elsewhere', email: null },
    });
    expect([await isLive(app, copied), await isLive(app, kept)]).toEqual([false, true]);
    expect((await refresh(app, copied.refresh_token, first)).body.error).toBe('invalid_grant');
  });
});
