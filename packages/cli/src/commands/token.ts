import { connect } from '../connection.ts';
import type { Context } from '../context.ts';

/** `latchkey token`: a valid access token, or a key, for scripts and credential helpers. */
export async function token(ctx: Context): Promise<void> {
  const { session, stored } = await connect(ctx);
  const access_token = await session.accessToken({ signal: ctx.signal });
  if (!ctx.output.json) return ctx.output.result(undefined, () => [access_token]);
  const login = await stored?.store.read();
  // How long a key lasts is not stored.
  const isExpiryKnown = login && login.kind !== 'key' && login.access_token === access_token;
  const left = isExpiryKnown ? login.access_token_expires_at - Date.now() : 0;
  const expiry = isExpiryKnown ? { expires_in: Math.max(0, Math.floor(left / 1000)) } : {};
  ctx.output.result({ access_token, token_type: 'Bearer', ...expiry }, () => []);
}
