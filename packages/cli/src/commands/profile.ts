import type { Body } from '@latchkey/client/operations';
import type { Profile } from '@latchkey/contract/account';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, UsageError } from '../exit.ts';
import { localTime, table } from '../text.ts';

export interface ProfileOptions {
  readonly name?: string;
  /** Empty: no locale any more. */
  readonly locale?: string;
  /** Empty: no time zone any more. */
  readonly timeZone?: string;
}

/** `latchkey profile` */
export async function showProfile(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  show(ctx, await session.call('getProfile', { signal: ctx.signal }));
}

/** `latchkey profile set`: changes what is named and leaves the rest. */
export async function setProfile(ctx: Context, { name, locale, timeZone }: ProfileOptions): Promise<void> {
  const hint = 'Run `latchkey profile set --help`.';
  if (name === '') throw new UsageError('A name cannot be empty.', hint);
  const body: Body<'updateProfile'> = {
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale: locale || null }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone || null }),
  };
  if (Object.keys(body).length === 0) {
    throw new UsageError('Say what to set: --name, --locale or --time-zone.', hint);
  }
  const { session } = await connect(ctx);
  const profile = await cancellable('Cancelled, but the server may already have changed your profile.', () =>
    session.call('updateProfile', { body, signal: ctx.signal }),
  );
  show(ctx, profile);
}

const show = (ctx: Context, profile: Profile): void =>
  ctx.output.result(profile, () =>
    table([
      ['Mail', `${profile.email}${profile.email_verified ? '' : ' (not verified)'}`],
      ['Name', profile.name],
      ['Picture', profile.avatar_url ?? '-'],
      ['Locale', profile.locale ?? '-'],
      ['Time zone', profile.time_zone ?? '-'],
      ['Since', localTime(profile.created_at)],
      ['ID', profile.id],
    ]),
  );
