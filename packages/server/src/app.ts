import manifest from '../package.json' with { type: 'json' };
import { revokeAllSessions } from './identity/account/account.ts';
import { accountRoutes } from './identity/account/routes.ts';
import { formerAddressTtlSeconds } from './identity/email-change/former-addresses.ts';
import {
  emailChangeMail,
  emailChangeTemplate,
  emailRestoredMail,
  emailRestoredTemplate,
  emailReturnedMail,
  emailReturnedTemplate,
} from './identity/email-change/mail.ts';
import { emailChangeRoutes } from './identity/email-change/routes.ts';
import { sweepEmailChanges } from './identity/email-change/store.ts';
import { organizationRoutes } from './identity/organizations/routes.ts';
import type { Context } from './platform/context.ts';
import type { Sweep } from './platform/database/sweep.ts';
import { documentationRoutes } from './platform/http/documentation.ts';
import { healthRoutes } from './platform/http/health.ts';
import { metricsRoute } from './platform/http/metrics-route.ts';
import { notFoundPage, pageRoutes } from './platform/http/pages.ts';
import { createApi } from './platform/http/pipeline.ts';
import { Routes } from './platform/http/routing.ts';
import {
  type App,
  createServer,
  initializeRequestCounts,
  type Lifecycle,
  rejectOtherMethods,
} from './platform/http/server.ts';
import { mailboxRoutes } from './platform/mail/mailbox.ts';
import type { Templates } from './platform/mail/message.ts';
import { countWaitingMails } from './platform/mail/outbox.ts';
import { sweepOutbox } from './platform/mail/outbox-store.ts';
import { sweepRateLimits } from './platform/rate-limits/store.ts';
import { knownBrowserTtlSeconds } from './platform/values/lifetimes.ts';
import { sweepEvents } from './security-log/events/events.ts';
import { eventRoutes } from './security-log/events/routes.ts';
import { digestMail, digestTemplate, noticeMail, noticeTemplate } from './security-log/notices/mail.ts';
import { noticeTtlSeconds } from './security-log/notices/notices.ts';
import { sweepNotices, sweepNoticeWindows } from './security-log/notices/store.ts';
import { discoveryRoutes } from './services/discovery/routes.ts';
import { introspectionRoutes } from './services/introspection/routes.ts';
import { authenticateService } from './services/service-keys/service-keys.ts';
import { openSigningKeys } from './services/signing-keys/signing-keys.ts';
import { authenticate, missingCredential, readCredential } from './sessions/authentication.ts';
import { requireBrowserSession, requireRecentSignIn } from './sessions/policy.ts';
import { refreshGrant, sessionRoutes } from './sessions/routes.ts';
import { sweepSessions } from './sessions/store.ts';
import { withdrawApproval } from './sign-in/device/device.ts';
import { deviceCodeGrant, deviceRoutes } from './sign-in/device/routes.ts';
import { sweepAuthorizations } from './sign-in/device/store.ts';
import { signInMail, signInTemplate } from './sign-in/magic-links/mail.ts';
import { magicLinkRoutes } from './sign-in/magic-links/routes.ts';
import { sweepMagicLinks } from './sign-in/magic-links/store.ts';
import { passkeyRoutes } from './sign-in/passkeys/routes.ts';
import { sweepSpentChallenges } from './sign-in/passkeys/store.ts';
import { disownedMail, disownedTemplate } from './whole-account/disowning/mail.ts';
import { disowningRoutes } from './whole-account/disowning/routes.ts';
import { accountDeletedMail, accountDeletedTemplate } from './whole-account/personal-data/mail.ts';
import { personalDataRoutes } from './whole-account/personal-data/routes.ts';

/** The template of each mail in the outbox. */
export const templates: Templates = {
  [signInTemplate]: signInMail,
  [noticeTemplate]: noticeMail,
  [digestTemplate]: digestMail,
  [emailChangeTemplate]: emailChangeMail,
  [emailRestoredTemplate]: emailRestoredMail,
  [emailReturnedTemplate]: emailReturnedMail,
  [disownedTemplate]: disownedMail,
  [accountDeletedTemplate]: accountDeletedMail,
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long rows are kept after they expire. Until then requests get a precise error, and operators can look at mails. */
const retentionMs = {
  sessions: 31 * dayMs,
  // Since they started. A day longer than their browsers stay known.
  distrustedSessions: knownBrowserTtlSeconds * 1000 + dayMs,
  deviceAuthorizations: hourMs,
  magicLinks: dayMs,
  // Longer than the clocks of two nodes may differ: while one node accepts a challenge, no other may delete its row.
  spentChallenges: hourMs,
  emailChanges: dayMs,
  // Counted from the change: until it cannot be undone and its former address no longer takes precedence.
  confirmedEmailChanges: (formerAddressTtlSeconds + noticeTtlSeconds) * 1000 + dayMs,
  notices: dayMs,
  // Longer than the clocks of two nodes may differ: while one node counts in a window, no other may delete it.
  noticeWindows: hourMs,
  // Longer than the clocks of two nodes may differ, as above.
  rateLimits: hourMs,
  sentMails: dayMs,
  deadMails: 30 * dayMs,
};

/** One sweep for each table whose rows expire. */
export const sweepsOf = (ctx: Context): readonly Sweep[] => [
  (on, now, limit) =>
    sweepSessions(on, {
      before: now - retentionMs.sessions,
      distrusted_before: now - retentionMs.distrustedSessions,
      limit,
    }),
  (on, now, limit) => sweepAuthorizations(on, { before: now - retentionMs.deviceAuthorizations, limit }),
  (on, now, limit) => sweepMagicLinks(on, { before: now - retentionMs.magicLinks, limit }),
  (on, now, limit) => sweepSpentChallenges(on, { before: now - retentionMs.spentChallenges, limit }),
  (on, now, limit) =>
    sweepEmailChanges(on, {
      before: now - retentionMs.emailChanges,
      changed_before: now - retentionMs.confirmedEmailChanges,
      limit,
    }),
  (on, now, limit) => sweepNotices(on, { before: now - retentionMs.notices, limit }),
  (on, now, limit) => sweepNoticeWindows(on, { before: now - retentionMs.noticeWindows, limit }),
  (on, now, limit) => sweepRateLimits(on, { before: now - retentionMs.rateLimits, limit }),
  (on, now, limit) =>
    sweepOutbox(on, {
      sent_before: now - retentionMs.sentMails,
      dead_before: now - retentionMs.deadMails,
      limit,
    }),
  (_, now, limit) => sweepEvents(ctx, now - ctx.config.eventRetentionSeconds * 1000, limit),
];

/** Connects all capabilities to their routes. The only place that knows all of them. */
export function createApp(ctx: Context, lifecycle: Lifecycle): App {
  const routes = new Routes();
  const api = createApi(ctx, routes, {
    readCredential: ({ type, value }) => readCredential(ctx, type, value),
    authenticate: (credential) => authenticate(ctx, credential),
    authenticateService: (authorization) => authenticateService(ctx, authorization),
    missingCredential,
    requireBrowserSession: (caller) => requireBrowserSession(ctx, caller),
    requireRecentLogin: (caller) => requireRecentSignIn(ctx, caller),
  });
  deviceRoutes(api, ctx, [deviceCodeGrant, refreshGrant]);
  magicLinkRoutes(api, ctx);
  passkeyRoutes(api, ctx);
  sessionRoutes(api, ctx, { revokeAllSessions, withdrawApproval });
  accountRoutes(api, ctx);
  emailChangeRoutes(api, ctx);
  disowningRoutes(api, ctx);
  personalDataRoutes(api, ctx);
  organizationRoutes(api, ctx);
  eventRoutes(api, ctx);
  const signingKeys = openSigningKeys(ctx);
  introspectionRoutes(api, ctx, signingKeys);
  discoveryRoutes(api, ctx, signingKeys);

  healthRoutes(routes, ctx, lifecycle);
  metricsRoute(routes, ctx, {
    version: manifest.version,
    countWaitingMails: () => countWaitingMails(ctx),
  });
  documentationRoutes(routes, ctx, manifest.version);
  pageRoutes(routes, { https: ctx.config.https });
  if (ctx.config.devMailbox) mailboxRoutes(routes, ctx, templates);
  initializeRequestCounts(ctx, routes);
  rejectOtherMethods(routes, ctx);
  return createServer(ctx, lifecycle, routes, notFoundPage({ https: ctx.config.https }));
}
