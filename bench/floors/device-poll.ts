// The least program that keeps the promises of a pending `POST /token`: it verifies the MAC of the device code and accepts
// the poll with the service's own statement, on SQLite in one commit with all polls that have arrived. No repetition, waiting, limits, metrics or other endpoints.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import {
  authorizationIdOf,
  earlyPollToleranceMs,
} from '../../packages/server/src/sign-in/device/redeeming.ts';
import { acceptPoll } from '../../packages/server/src/sign-in/device/store.ts';
import { db, type FloorAnswer, json, keys, serve } from './server.ts';

const refusal = (error: string, error_description: string, request_id: string): FloorAnswer => ({
  status: 400,
  body: { error, error_description, request_id },
  outcome: error,
});

serve(async (request, requestId) => {
  const { device_code = '' } = await json(request);
  const handle = readHandle(keys, 'deviceCode', device_code);
  const id = handle && authorizationIdOf(handle.subject);
  const now = Date.now();
  const poll = { now, due_by: now + earlyPollToleranceMs, answered_at: now };
  const [accepted] = id === undefined ? [] : await acceptPoll(db.single, { id, ...poll });
  if (!accepted) return refusal('invalid_grant', 'The device code is unknown.', requestId);
  const description = 'The user has not approved this device yet. Keep polling.';
  return refusal('authorization_pending', description, requestId);
});
