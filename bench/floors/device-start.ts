// The least program that keeps the promises of `POST /device`: it draws both codes, stores their hashes with the service's own
// statement, on SQLite in one commit with all requests that have arrived, and answers once that is on disk. No validation,
// scopes, limits, metrics or other endpoints.

import { formatCode } from '@latchkey/contract/codes';
import { randomUserCode } from '../../packages/server/src/platform/crypto/codes.ts';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { systemRandom } from '../../packages/server/src/platform/crypto/primitives.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { authorizationIdOf, sessionSecretOf } from '../../packages/server/src/sign-in/device/redeeming.ts';
import { insertAuthorization } from '../../packages/server/src/sign-in/device/store.ts';
import { db, json, keys, serve } from './server.ts';

const ttlSeconds = 600;
const interval = 1;

const verification_uri = `${process.env['LATCHKEY_BASE_URL']}/device`;

serve(async (request) => {
  const { client_name = null, device_name = null } = await json(request);
  const now = Date.now();
  const secret = systemRandom(subjectBytes);
  const code = randomUserCode(systemRandom);
  const expires_at = now + ttlSeconds * 1000;
  await insertAuthorization(db.single, {
    id: authorizationIdOf(secret),
    session_id: sessionIdOf(sessionSecretOf(secret)),
    user_code_hash: keys.signing.mac('user code', Buffer.from(code)).toString('base64url'),
    client_id: null,
    client_name,
    device_name,
    scope: null,
    resource: null,
    ip_address: '127.0.0.1',
    user_agent: request.headers.get('User-Agent'),
    created_at: now,
    expires_at,
    interval_seconds: interval,
    can_confirm: 0,
  });
  const user_code = formatCode(code);
  return {
    status: 200,
    body: {
      device_code: mintHandle(keys, 'deviceCode', { subject: secret, value: expires_at }),
      user_code,
      verification_uri,
      verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
      expires_in: ttlSeconds,
      interval,
    },
  };
});
