import { connect } from '../connection.ts';
import type { Context } from '../context.ts';

/** `latchkey token`: a valid access token, for scripts and credential helpers. */
export async function token(ctx: Context): Promise<void> {
  const { session, store } = await connect(ctx);
  const access_token = await session.accessToken({ signal: ctx.signal });
  if (!ctx.output.json) return ctx.output.result(undefined, () => [access_token]);
  const stored = await store.read();
  const left = stored?.access_token === access_token ? stored.access_token_expires_at - Date.now() : 0;
  const expires_in = Math.max(0, Math.floor(left / 1000));
  ctx.output.result({ access_token, token_type: 'Bearer', expires_in }, () => []);
}
