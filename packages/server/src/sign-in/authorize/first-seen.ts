// When a request that asks for a new sign-in first came to a browser, which keeps that in a cookie. The user signs in on another page
// and then comes back with the same request, so the time when it came last says nothing.

import { type AuthorizationParameters, authorizationParameters } from '@latchkey/contract/authorize';
import type { Context } from '../../platform/context.ts';
import { mintChallenge, readChallenge, subjectBytes } from '../../platform/crypto/handle.ts';
import { withoutEmpty } from '../../platform/values/parameters.ts';

/** How many requests a browser keeps. The oldest one is forgotten first. */
const maxKept = 4;

const separator = '.';

const stampsIn = (cookie: string | undefined): string[] => (cookie ?? '').split(separator).filter(Boolean);

/** What makes two requests the same one: all parameters but the scope, in whose place the page sends the one that was shown. */
function identityOf(sent: AuthorizationParameters): string {
  const names = Object.keys(authorizationParameters.shape).filter((name) => name !== 'scope');
  const values: Readonly<Record<string, string>> = withoutEmpty(sent as Record<string, string>);
  return JSON.stringify(names.map((name) => values[name] ?? null));
}

const timeIn = (ctx: Context, stamp: string, identity: string): number | undefined =>
  readChallenge(ctx.keys, 'authorizationRequest', stamp, identity)?.value;

/** When the request first came, in milliseconds since 1970; undefined if the cookie does not say. */
export function firstSeen(ctx: Context, cookie: string | undefined, sent: AuthorizationParameters) {
  const identity = identityOf(sent);
  const times = stampsIn(cookie).map((stamp) => timeIn(ctx, stamp, identity));
  return times.find((time) => time !== undefined);
}

/** The cookie with the time of this request, which comes for the first time. */
export function rememberRequest(ctx: Context, cookie: string | undefined, sent: AuthorizationParameters) {
  const handle = { subject: ctx.random(subjectBytes), value: ctx.clock() };
  const stamp = mintChallenge(ctx.keys, 'authorizationRequest', handle, identityOf(sent));
  return [stamp, ...stampsIn(cookie)].slice(0, maxKept).join(separator);
}

/** The cookie without a request that was answered: the next one with the same parameters is another. Undefined if it is not in there. */
export function forgetRequest(ctx: Context, cookie: string | undefined, sent: AuthorizationParameters) {
  const identity = identityOf(sent);
  const stamps = stampsIn(cookie);
  const others = stamps.filter((stamp) => timeIn(ctx, stamp, identity) === undefined);
  return others.length === stamps.length ? undefined : others.join(separator);
}
