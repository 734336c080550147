// The least program that keeps the promises of `POST /magic_link`: it stores the link and queues its email in one commit, on
// SQLite together with all requests that have arrived, and answers once that is on disk. It sends nothing, and has no limits,
// known browsers, languages, metrics or other endpoints.

import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { newId, systemRandom } from '../../packages/server/src/platform/crypto/primitives.ts';
import { urgentPriority } from '../../packages/server/src/platform/mail/outbox-store.ts';
import { emailKeyOf } from '../../packages/server/src/platform/values/email-key.ts';
import { insertMagicLinkAndMail } from '../../packages/server/src/sign-in/magic-links/store.ts';
import { db, json, keys, serve } from './server.ts';

const ttlSeconds = 900;

serve(async (request) => {
  const { email = '' } = await json(request);
  const now = Date.now();
  const subject = systemRandom(subjectBytes);
  const id = subject.toString('base64url');
  const expires_at = now + ttlSeconds * 1000;
  const email_key = emailKeyOf(email);
  await insertMagicLinkAndMail(
    db,
    {
      ...{ id, email, email_key, created_at: now, expires_at, language: null },
      ...{ ip_address: '127.0.0.1', user_agent: request.headers.get('User-Agent') },
    },
    {
      ...{ id: newId('mail_', systemRandom), template: 'sign_in', reference: id, priority: urgentPriority },
      ...{ recipient: email, recipient_key: email_key, user_id: null, trace_id: null, span_id: null },
      ...{ created_at: now, next_attempt_at: now, expires_at },
    },
  );
  const handle = mintHandle(keys, 'magicLinkRequest', { subject, value: expires_at });
  return { status: 202, body: { status: 'sent', expires_in: ttlSeconds, request: handle } };
});
