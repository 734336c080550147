import {
  type Profile,
  type ProfileField,
  type ProfilePatch,
  type ProfileView,
  profileFields,
} from '@latchkey/contract/account';
import { languageOf } from '@latchkey/contract/languages';
import { holdsEverything, includesAny } from '@latchkey/contract/scope-names';
import type { Caller, CallerAccount, Context, Requester } from '../../platform/context.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError, accountGone } from '../../platform/errors.ts';
import { ifMatchHolds } from '../../platform/values/entity-tag.ts';
import { type EventDetail, recordChange } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import { lockAccountAs } from '../../sessions/sessions.ts';
import * as store from './store.ts';

const pick = <Row, Name extends keyof Row>(row: Row, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;

export const profileOf = (row: CallerAccount): Profile => ({
  id: row.id,
  email: row.email,
  email_verified: row.email_verified === 1,
  ...pick(row, profileFields),
  created_at: new Date(row.created_at).toISOString(),
  updated_at: new Date(row.updated_at).toISOString(),
});

/** A profile, or what a token may see of it, with a strong entity tag of its own. */
export interface TaggedProfile<Shown = Profile> {
  readonly profile: Shown;
  readonly etag: string;
}

export const tagged = (row: CallerAccount): TaggedProfile => ({
  profile: profileOf(row),
  etag: `"${row.id}.${row.revision}"`,
});

/** The members of a profile that a scope shows, beside those that every token shows. */
const membersOf: Readonly<Record<'email' | 'profile', readonly (keyof Profile)[]>> = {
  email: ['email', 'email_verified'],
  profile: profileFields,
};

/** The part of the caller's profile that its scope allows. Its ETag is not that of the whole profile. */
export function visibleTo({ scope, account }: Caller): TaggedProfile<ProfileView> {
  const whole = tagged(account);
  if (holdsEverything(scope)) return whole;
  const { id, created_at, updated_at } = whole.profile;
  const names = (['email', 'profile'] as const).filter((name) => includesAny(scope, [name]));
  return {
    profile: Object.assign(
      { id, created_at, updated_at },
      ...names.map((name) => pick(whole.profile, membersOf[name])),
    ),
    etag: `${whole.etag.slice(0, -1)}.${names.join('.')}"`,
  };
}

/** A merge patch (RFC 7396). Unchanged, `updated_at` stays. @throws {AuthError} `precondition_failed` */
export const updateProfile = (
  ctx: Context,
  { caller, client }: Requester,
  patch: ProfilePatch,
  ifMatch: string | null,
): Promise<TaggedProfile> =>
  ctx.db.transaction(async (tx) => {
    const { userId, sessionId } = caller;
    await lockAccountAs(ctx, tx, caller);
    const [row] = await store.findUser(tx, { id: userId });
    if (!row) throw accountGone();
    if (ifMatch !== null && !ifMatchHolds(ifMatch, tagged(row).etag)) {
      throw new AuthError('precondition_failed', 'If-Match: the profile has changed since it was read.');
    }
    const { next, changed } = mergePatch(row, patch);
    if (changed.length === 0) return tagged(row);
    const [updated] = await store.updateProfile(tx, {
      id: userId,
      ...next,
      former_languages: formerLanguagesOf(row, next.locale, ctx.clock()),
      now: ctx.clock(),
    });
    if (!updated) throw new Error('a locked account has disappeared');
    const detail = { fields: changed.join(' ') };
    await recordChange(ctx, tx, { type: 'profile_changed', userId, sessionId, client, detail }, mergeFields);
    await writeFeedEvent(ctx, tx, { type: 'profile-changed', userId, detail: { fields: changed } });
    return tagged(updated);
  });

/** The former languages of an account with this locale from now on. Notices use them, too, for some days. */
function formerLanguagesOf(
  { locale, former_languages }: Pick<Tables['users'], 'locale' | 'former_languages'>,
  next: string | null,
  now: number,
): string | null {
  const [left, chosen] = [locale, next].map((tag) => languageOf(tag) ?? 'en');
  if (left === chosen) return former_languages;
  return JSON.stringify({ ...JSON.parse(former_languages ?? '{}'), [left!]: now });
}

/** The fields of the profile after the patch, and the names of those that it changes. @see RFC 7396 */
function mergePatch(row: CallerAccount, patch: ProfilePatch) {
  const given = pick(
    patch,
    profileFields.filter((field) => patch[field] !== undefined),
  );
  const next: Pick<Profile, ProfileField> = Object.assign(pick(row, profileFields), given);
  const changed = profileFields.filter((field) => next[field] !== row[field]);
  return { next, changed };
}

/** The fields of two profile changes, for the one event that records both. */
const mergeFields = ({ fields: earlier = '' }: EventDetail, { fields: later = '' }: EventDetail) => ({
  fields: [...new Set(`${earlier} ${later}`.trim().split(' '))].join(' '),
});
