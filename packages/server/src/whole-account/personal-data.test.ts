import { expect, test } from 'bun:test';
import {
  askForAddress,
  changeAddress,
  cookieByMail,
  isLive,
  mailsTo,
  outcome,
  sameOrigin,
} from '#support/account.ts';
import { type AccountScene, allRows, prepareAccount, prepareDatabase } from '#support/account-scene.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { exportPersonalData } from './personal-data.ts';

const ada = 'Ada@example.com';
const bob = 'bob@example.com';
const deletedSubject = 'Your Latchkey account has been deleted';

/** A name as it appears in a mail address and as a whole value; on its own it could occur in a random id. */
const tracesOf = (name: string) => [`${name}@`, `"${name}"`];

/** Every row that contains one of these texts, with its table. */
async function rowsAbout({ ctx: { db } }: TestApp, texts: readonly string[]) {
  const found = [...(await allRows(db.read))].flatMap(([table, rows]) =>
    rows.map((row) => ({ table, row: row.toLowerCase() })),
  );
  return found.filter(({ row }) => texts.some((part) => row.includes(part.toLowerCase())));
}

/** An account with a row in every table that can hold one, and the texts that its rows contain. */
async function fillTables(app: TestApp): Promise<AccountScene & { readonly texts: string[] }> {
  const scene = await prepareAccount(app, await prepareDatabase(app));
  const changed = { json: { token: scene.changeToken }, token: scene.tokens.access_token };
  expect(outcome(await app.ask('POST', '/me/email/verify', changed))).toBe('200');
  await askForAddress(app, scene.tokens, `pending-${scene.email}`);
  for (const email of [scene.email, `NEW-${scene.email}`])
    await app.ask('POST', '/magic_link', { json: { email } });
  const [name = ''] = scene.email.split('@');
  return { ...scene, texts: [scene.userId, ...tracesOf(name), 'first name', 'first key'] };
}

/** Tables that hold nothing about a person, and why. A new table belongs here or in `fillTables`. */
const impersonal: Record<string, string> = {
  spent_challenges: 'ids of challenges, which identify no account',
  address_locks: 'the numbers of locks',
  restore_guard: 'what a restored copy lacks',
  feed_readers: 'how far services have read the feed',
  feed_acknowledgements: 'positions in the feed',
  log_totals: 'how many events all logs have had',
  rate_limits: 'counters under hashed keys, until their window ends',
  declarations: 'what services have declared',
  service_keys: 'credentials of other services, not of people',
  service_tokens: 'access tokens of services that act for no user',
  signing_keys: 'keys of this service',
};

/** A new column either belongs here, or holds a secret and must be left out of the export. */
const exportedColumns: Readonly<Record<string, string>> = {
  users:
    'avatar_url created_at disabled_at email email_key email_verified former_languages id locale name revision ' +
    'session_epoch time_zone updated_at webauthn_user_handle',
  sessions:
    'actor authenticated_at authenticated_by authorization_details client_id client_name created_at ' +
    'device_name distrusted_as email_change_id end_announced_at expires_at generation id idle_expires_at ip_address ' +
    'kind last_used_at method ordinal parent_session_id passkey_added_by passkey_id path resource revoked_at ' +
    'root_session_id rotated_at rotated_network rotated_program scope service_id session_epoch ' +
    'token_ttl_seconds trust user_agent user_id within_session_id',
  passkeys:
    'aaguid backed_up counter created_at credential_id device_type email_change_id id last_used_at ' +
    'name ordinal public_key session_id transports user_id',
  authorization_codes:
    'approved_by client_id client_name created_at device_name expires_at passkey_id redeemed redirect_uri ' +
    'redirect_uri_named resource scope session_epoch session_id spent_at user_id',
  device_authorizations:
    'approved_by can_confirm client_id client_name confirmation_tries created_at device_name ' +
    'expires_at interval_seconds ip_address last_poll_at passkey_id redeemed_at resource scope session_epoch ' +
    'session_id status user_agent user_id',
  events: 'created_at detail id ip_address mac once position seq session_id type user_agent user_id',
  email_changes:
    'changed_at created_at expires_at new_email new_email_key old_email old_email_key ordinal session_epoch ' +
    'session_id undone_at user_id voided_at wrong_addresses',
  feed_events: 'detail id seq session_id type user_id written_at',
  notices:
    'approver_disowned_at client_name created_at device_name digest_id disowned_at email email_change_id ' +
    'email_key expires_at ip_address kind language new_email ordinal outcome passkey_name restored_email ' +
    'session_id since user_agent user_id',
  magic_links: 'code_tries created_at email email_key expires_at ip_address language spent_at user_agent',
  organizations: 'id joined_at name personal role slug',
  outbox:
    'attempts created_at dead_at expires_at last_error next_attempt_at priority recipient ' +
    'recipient_key refusals sent_at slow_attempts span_id template trace_id user_id',
};

onBothDatabases('the personal data of an account', (open) => {
  const app = fresh(open);

  test('an export covers every table with personal data, and has no credential; deleting the account leaves no row about the person in any of them, except the last mail and, for a week, events without personal data', async () => {
    await app.login(bob);
    const { email, tokens, organization, texts } = await fillTables(app);
    const rows = await rowsAbout(app, texts);
    const before = new Set(rows.map(({ table }) => table));
    // A new table fails here until `fillTables` fills it or `impersonal` says why it holds nothing about a person.
    const all = [...(await allRows(app.ctx.db.read)).keys()].filter((name) => !name.startsWith('kysely_'));
    expect(all.filter((table) => !before.has(table)).sort()).toEqual(Object.keys(impersonal).sort());
    const bobs = await rowsAbout(app, tracesOf('bob'));

    const exported = await exportPersonalData(app.ctx, `new-${email}`);
    // Memberships are exported with their organizations; chains hold only numbers and seals; windows only count the
    // exported notices.
    const held = [...before].filter(
      (table) => !['memberships', 'event_chains', 'notice_windows'].includes(table),
    );
    expect(Object.keys(exported).sort()).toEqual(held.sort());
    // Also to the former address, which is still reserved.
    for (const name of ['magic_links', 'outbox'])
      expect(exported[name]).toHaveLength(rows.filter(({ table }) => table === name).length);
    const text = JSON.stringify(exported);
    expect(text).not.toMatch(/lk_[a-z]{2}_/);
    for (const [table, rows] of Object.entries(exported)) {
      const columns = new Set((rows as object[]).flatMap((row) => Object.keys(row)));
      expect([table, [...columns].sort().join(' ')]).toEqual([table, exportedColumns[table] ?? '']);
    }
    expect(text).toContain(organization);

    expect(outcome(await app.ask('DELETE', '/me', { token: tokens.access_token }))).toBe('204');
    const after = await rowsAbout(app, texts);
    // Services read for a week that the account is gone.
    const kept = after.filter(({ table }) => table !== 'feed_events');
    expect(kept.map(({ table }) => table)).toEqual(['outbox']);
    expect(JSON.parse(kept[0]!.row)).toMatchObject({
      template: 'account_deleted',
      recipient: `new-${email}`,
      // The language.
      reference: 'en',
    });
    expect(await rowsAbout(app, tracesOf('bob'))).toEqual(bobs);
    const left = `SELECT id FROM organizations WHERE slug = '${organization}'`;
    expect(await app.ctx.db.read.run(left, [])).toHaveLength(1);
  });

  test('deleting an account ends its tokens at once on every node, clears the cookie, and its addresses can sign up again', async () => {
    const beside = await open({ beside: app });
    const tokens = await app.login(ada);
    const { id } = (await app.ask('GET', '/me', { token: tokens.access_token })).body;
    await changeAddress(app, tokens, 'ada@new.example');
    const cookie = await cookieByMail(app, 'ada@new.example');
    const gone = await app.ask('DELETE', '/me', { cookie, headers: sameOrigin });
    expect(outcome(gone)).toBe('204');
    expect(gone.headers.get('Set-Cookie')).toMatch(/Max-Age=0|Expires=Thu, 01 Jan 1970/i);
    for (const node of [app, beside]) expect(await isLive(node, tokens)).toBe(false);
    expect(await mailsTo(app, 'ada@new.example', deletedSubject)).toHaveLength(1);
    // Also with its former address.
    for (const email of ['ada@new.example', ada]) {
      const { access_token: token } = await app.login(email);
      expect((await app.ask('GET', '/me', { token })).body.id).not.toBe(id);
      expect((await app.ask('GET', '/passkeys', { token })).body.passkeys).toEqual([]);
    }
    const unknown = exportPersonalData(app.ctx, 'nobody@example.com');
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
  });
});
