import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { checkedHelper, type HelperOptions, readRequest, tokenFor, username } from '../credential-helper.ts';
import { destinationOf } from '../credential-hosts.ts';

/**
 * `latchkey credential git OPERATION`: a token for git. For another host it prints nothing, so that git asks its next
 * helper. Nothing is stored or erased, and later operations of git are ignored.
 * @see https://git-scm.com/docs/gitcredentials#_custom_helpers
 */
export async function gitCredential(ctx: Context, operation: string, options: HelperOptions): Promise<void> {
  const helper = checkedHelper(ctx, options);
  const request = parseAttributes(await readRequest(ctx, /(^|\n)\n/));
  if (operation !== 'get') return;
  const origin = destinationOf(request.get('protocol') ?? '', request.get('host') ?? '');
  if (!origin) return;
  const found = await tokenFor(ctx, await connect(ctx), helper, [origin]);
  if (!found) return;
  const { token, expiresAt } = found;
  ctx.output.result(undefined, () => [
    ...(request.get('username') ? [] : [`username=${username}`]),
    `password=${token}`,
    ...(expiresAt === undefined ? [] : [`password_expiry_utc=${Math.floor(expiresAt / 1000)}`]),
  ]);
}

/** Lines of `name=value`, up to an empty one. Of equal names the last counts. */
function parseAttributes(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n');
  const end = lines.indexOf('');
  return new Map(
    (end < 0 ? lines : lines.slice(0, end)).map((line) => {
      const [name = ''] = line.split('=', 1);
      return [name, line.slice(name.length + 1)] as const;
    }),
  );
}
