import type { Body } from '@latchkey/client/operations';
import type { ProfileView } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { cancellable, UsageError } from '../exit.ts';
import { localTime, shortened, table } from '../text.ts';
import { requireLength, requireText } from '../text-input.ts';

export interface ProfileOptions {
  readonly name?: string;
  /** Empty: clear the locale. */
  readonly locale?: string;
  /** Empty: clear the time zone. */
  readonly timeZone?: string;
}

/** `latchkey profile` */
export async function showProfile(ctx: Context): Promise<void> {
  const { session } = await connect(ctx);
  print(ctx, await session.call('getProfile', { signal: ctx.signal }));
}

/** `latchkey profile set`: changes what is given and leaves the rest. */
export async function setProfile(ctx: Context, options: ProfileOptions): Promise<void> {
  const body = profilePatch(options);
  const { session } = await connect(ctx);
  const profile = await cancellable('Cancelled, but the server may already have changed your profile.', () =>
    session.call('updateProfile', { body, signal: ctx.signal }),
  );
  print(ctx, profile);
}

/** @throws {UsageError} */
function profilePatch({ name, locale, timeZone }: ProfileOptions): Body<'updateProfile'> {
  requireText('A name', name, fieldLimits.profileName);
  requireLength('A locale', locale, fieldLimits.locale);
  requireLength('A time zone', timeZone, fieldLimits.timeZone);
  const body: Body<'updateProfile'> = {
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale: locale || null }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone || null }),
  };
  if (Object.keys(body).length === 0) {
    throw new UsageError('Give at least one of --name, --locale and --time-zone.');
  }
  return body;
}

/** A narrow token shows only the members that its scope allows. */
const print = (ctx: Context, profile: ProfileView): void =>
  ctx.output.result(profile, () =>
    table([
      ['Email', `${profile.email ?? '-'}${profile.email_verified === false ? ' (not verified)' : ''}`],
      ['Name', profile.name ?? '-'],
      ['Picture', profile.avatar_url ?? '-'],
      ['Locale', profile.locale ?? '-'],
      ['Time zone', profile.time_zone ?? '-'],
      ['Created', localTime(profile.created_at)],
      ['ID', profile.id],
    ]),
  );

/** `latchkey whoami`: the signed-in user, as the server reports it. */
export async function whoami(ctx: Context): Promise<void> {
  const { session, server } = await connect(ctx);
  const profile = await session.call('getProfile', { signal: ctx.signal });
  ctx.output.result(profile, () => [`${shortened(nameOf(profile))} at ${server}`]);
}

/** A narrow token may see neither name nor address; the id is always there. */
const nameOf = ({ id, name, email }: ProfileView): string =>
  [name, email === undefined ? undefined : `<${email}>`].filter((part) => part !== undefined).join(' ') || id;
