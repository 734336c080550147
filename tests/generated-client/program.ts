// A client generated from /openapi.json alone, as a third party would use it.
// `packages/server/src/platform/http/generated-client.test.ts` generates the types, checks this file against them and runs it.

import createClient from 'openapi-fetch';
import type { paths } from './openapi.ts';

const [baseUrl = ''] = process.argv.slice(2);
const anyone = createClient<paths>({ baseUrl });
const withToken = (token: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

const asForm = { 'Content-Type': 'application/x-www-form-urlencoded' };
const asPatch = { 'Content-Type': 'application/merge-patch+json' };

function must(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new Error(what);
}

async function linkToken(address: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${baseUrl}/dev/mailbox.json`);
    const { messages } = (await answer.json()) as { messages: { to: string; text: string }[] };
    const mail = messages.find(({ to, text }) => to === address && text.includes('#token=lk_ml_'));
    if (mail) return /#token=(\S+)/.exec(mail.text)![1]!;
    await new Promise((done) => setTimeout(done, 20));
  }
}

// Signing in by mail, as in a browser.
const sent = await anyone.POST('/api/v1/auth/magic_link', { body: { email: 'ada@example.com' } });
must(sent.data?.status === 'sent', 'no mail');
const token = await linkToken('ada@example.com');
const login = await anyone.POST('/api/v1/auth/magic_link/verify', { body: { token } });
must(login.data !== undefined && 'access_token' in login.data, 'no tokens from the link');
const browser = withToken(login.data.access_token);

// The device flow, as in a terminal: once with JSON and once with forms.
async function startDevice(headers: Record<string, string>) {
  const started = await anyone.POST('/api/v1/auth/device', { body: { client_name: 'generated' }, headers });
  must(started.data !== undefined, 'no device code');
  const { device_code, user_code, interval } = started.data;
  must(Number.isInteger(interval), 'no interval');
  return { device_code, approve: () => browser.POST('/api/v1/auth/device/approve', { body: { user_code } }) };
}

const device = await startDevice({});
const { device_code } = device;
const pending = await anyone.POST('/api/v1/auth/token', { body: { device_code } });
must(pending.response.status === 400 && pending.error !== undefined, 'not pending');
const code:
  | 'account_disabled'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'invalid_grant'
  | 'invalid_request'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_authorization_details'
  | 'invalid_client'
  | 'confirmation_required'
  | 'unauthorized_client'
  | 'origin_not_allowed'
  | 'precondition_failed'
  | 'conflict'
  | 'rate_limited'
  | 'server_error'
  | 'temporarily_unavailable' = pending.error.error;
must(code === 'authorization_pending', 'not authorization_pending');
must((await device.approve()).response.status === 204, 'not approved');
const redeemed = await anyone.POST('/api/v1/auth/token', {
  body: { device_code },
  params: { header: { 'Idempotency-Key': 'a key' } },
});
must(redeemed.data?.token_type === 'Bearer' && redeemed.data.refresh_token !== undefined, 'not redeemed');

const deviceByForm = await startDevice(asForm);
await deviceByForm.approve();
const redeemedByForm = await anyone.POST('/api/v1/auth/token', {
  body: {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceByForm.device_code,
  },
  headers: asForm,
});
must(redeemedByForm.data?.refresh_token !== undefined, 'not redeemed by form');

// Refreshing with JSON and with a form.
const { refresh_token } = redeemed.data;
const refreshed = await anyone.POST('/api/v1/auth/refresh', { body: { refresh_token } });
must(refreshed.data !== undefined && refreshed.data.refresh_token !== refresh_token, 'not refreshed');
const refreshedByForm = await anyone.POST('/api/v1/auth/refresh', {
  body: { grant_type: 'refresh_token', refresh_token: redeemedByForm.data.refresh_token },
  headers: asForm,
});
must(refreshedByForm.data !== undefined, 'not refreshed by form');

// The profile.
const terminal = withToken(refreshed.data.access_token);
const me = await terminal.GET('/api/v1/auth/me');
must(me.data?.email === 'ada@example.com' && me.data.avatar_url === null, 'no profile');
const etag = me.response.headers.get('ETag') ?? '';
const unchanged = await terminal.GET('/api/v1/auth/me', { params: { header: { 'If-None-Match': etag } } });
must(unchanged.response.status === 304, 'not 304');
const head = await terminal.HEAD('/api/v1/auth/me');
must(head.response.headers.get('ETag') === etag, 'HEAD has no ETag');
for (const headers of [{}, asPatch]) {
  const changed = await terminal.PATCH('/api/v1/auth/me', {
    body: { name: 'Ada L.', locale: null },
    headers,
  });
  must(changed.data?.name === 'Ada L.', 'not changed');
}
const late = await terminal.PATCH('/api/v1/auth/me', {
  body: { name: 'Ada' },
  params: { header: { 'If-Match': etag } },
});
must(late.error?.error === 'precondition_failed', 'If-Match was not honoured');

// Lists.
const organizations = await terminal.GET('/api/v1/auth/organizations', { params: { query: { limit: 1 } } });
must(organizations.data?.organizations[0]?.role === 'owner', 'no organization');
must(organizations.data.next_cursor === null, 'a second page');
const tooMany = await terminal.GET('/api/v1/auth/sessions', { params: { query: { limit: 101 } } });
must(tooMany.error?.error === 'invalid_request', 'a limit of 101 was accepted');

// Revoking with JSON and with a form.
const byForm = await anyone.POST('/api/v1/auth/revoke', {
  body: { token: refreshedByForm.data.access_token },
  headers: asForm,
});
must(byForm.response.status === 200, 'not revoked by form');
const ended = await withToken(refreshedByForm.data.access_token).GET('/api/v1/auth/me');
must(ended.response.status === 401 && ended.error?.error === 'invalid_token', 'not ended');
const bySession = await terminal.POST('/api/v1/auth/revoke', { body: { scope: 'session' } });
must(bySession.response.status === 204, 'not revoked');
must((await browser.POST('/api/v1/auth/revoke')).response.status === 204, 'not revoked without a body');

// Calls that the types must reject.
export const rejected = [
  // @ts-expect-error: unknown path
  () => anyone.GET('/api/v1/auth/nothing'),
  // @ts-expect-error: unknown method of this path
  () => anyone.GET('/api/v1/auth/magic_link'),
  // @ts-expect-error: the body is required
  () => anyone.POST('/api/v1/auth/magic_link', {}),
  // @ts-expect-error: the limit is a number
  () => terminal.GET('/api/v1/auth/events', { params: { query: { limit: '5' } } }),
  // @ts-expect-error: the name is a string
  () => terminal.PATCH('/api/v1/auth/me', { body: { name: null } }),
];

process.stdout.write('done\n');
