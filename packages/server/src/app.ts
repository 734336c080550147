import {
  authorizationCodeGrantType,
  clientCredentialsGrantType,
  deviceCodeGrantType,
  federationGrantType,
  refreshGrantType,
  tokenExchangeGrantType,
} from '@latchkey/contract/tokens';
import manifest from '../package.json' with { type: 'json' };
import { accountRoutes } from './identity/account/routes.ts';
import { keepCounting } from './identity/account/users.ts';
import { formerAddressTtlSeconds } from './identity/email-change/email-change.ts';
import {
  emailChangeMail,
  emailChangeTemplate,
  emailRestoredMail,
  emailRestoredTemplate,
} from './identity/email-change/mail.ts';
import { emailChangeRoutes } from './identity/email-change/routes.ts';
import { sweepEmailChanges } from './identity/email-change/store.ts';
import { organizationRoutes } from './identity/organizations/routes.ts';
import type { Context } from './platform/context.ts';
import { keepSweeping, type Sweeps, sweepAfter } from './platform/database/sweep.ts';
import { documentationRoutes } from './platform/http/documentation.ts';
import { monitoringRoutes } from './platform/http/monitoring.ts';
import { notFoundPage, pageRoutes } from './platform/http/pages.ts';
import { createApi } from './platform/http/pipeline.ts';
import { type App, createServer, type Lifecycle, Routes } from './platform/http/server.ts';
import { mailboxRoutes } from './platform/mail/mailbox.ts';
import type { Templates } from './platform/mail/message.ts';
import { countWaitingMails } from './platform/mail/outbox.ts';
import { sweepOutbox } from './platform/mail/outbox-store.ts';
import { sweepRateLimits } from './platform/rate-limits/store.ts';
import { tokenRoutes } from './platform/token-endpoint/grants.ts';
import { knownBrowserTtlSeconds } from './platform/values/lifetimes.ts';
import { sweepEvents } from './security-log/events/auditing.ts';
import { eventRoutes } from './security-log/events/routes.ts';
import { sweepFeedEvents } from './security-log/feed-events/store.ts';
import { digestMail, noticeMail } from './security-log/notices/mail.ts';
import { digestTemplate, noticeTemplate, noticeTtlSeconds } from './security-log/notices/notices.ts';
import { sweepNotices, sweepNoticeWindows } from './security-log/notices/store.ts';
import { authenticateService, requireRight } from './services/authentication.ts';
import { openClients } from './services/clients.ts';
import { clientCredentialsGrant, scopeRoutes } from './services/routes.ts';
import { sweepServiceTokens } from './services/store.ts';
import { authenticate, missingCredential } from './sessions/authentication.ts';
import { openIssuers } from './sessions/federation/federation.ts';
import { keepAnnouncingKeyEnds, keyEndsMail, keyEndsTemplate } from './sessions/keys/keys.ts';
import { federationGrant, refreshGrant, sessionRoutes, tokenExchangeGrant } from './sessions/routes.ts';
import { sweepRuns } from './sessions/runs/store.ts';
import { requireBrowserSession, requireRecentSignIn } from './sessions/sessions.ts';
import { sweepSessions } from './sessions/store.ts';
import {
  authorizationCodeGrant,
  authorizePage,
  authorizeRoutes,
  noticingReplays,
} from './sign-in/authorize/routes.ts';
import { sweepCodes } from './sign-in/authorize/store.ts';
import { openHeldPolls } from './sign-in/device/held-polls.ts';
import { deviceCodeGrant, deviceRoutes } from './sign-in/device/routes.ts';
import { sweepAuthorizations } from './sign-in/device/store.ts';
import { writeFailedSignIns } from './sign-in/failures/failures.ts';
import { signInMail, signInTemplate } from './sign-in/magic-links/mail.ts';
import { magicLinkRoutes } from './sign-in/magic-links/routes.ts';
import { sweepMagicLinks } from './sign-in/magic-links/store.ts';
import { passkeyRoutes } from './sign-in/passkeys/routes.ts';
import { sweepSpentChallenges } from './sign-in/passkeys/store.ts';
import { touches } from './sign-in/passkeys/touch.ts';
import { discoveryRoutes } from './trust/discovery/routes.ts';
import { feedRetentionSeconds, readerTtlMs } from './trust/feed/polling.ts';
import { feedRoutes } from './trust/feed/routes.ts';
import { sweepReaders } from './trust/feed/store.ts';
import { introspectionRoutes } from './trust/introspection/routes.ts';
import { identityTokens, readIdentityToken } from './trust/openid/identity-tokens.ts';
import { openidRoutes, signOutPage } from './trust/openid/routes.ts';
import { openSigningKeys } from './trust/signing-keys/signing-keys.ts';
import {
  accountDeletedMail,
  accountDeletedTemplate,
  disownedMail,
  disownedTemplate,
} from './whole-account/mail.ts';
import { operatorRoutes, wholeAccountRoutes } from './whole-account/routes.ts';

/** The template of each mail in the outbox. */
export const templates: Templates = {
  [signInTemplate]: signInMail,
  [noticeTemplate]: noticeMail,
  [digestTemplate]: digestMail,
  [keyEndsTemplate]: keyEndsMail,
  [emailChangeTemplate]: emailChangeMail,
  [emailRestoredTemplate]: emailRestoredMail,
  [disownedTemplate]: disownedMail,
  [accountDeletedTemplate]: accountDeletedMail,
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Exceeds the clock difference of any two nodes: no node may delete a row that still decides on another. */
const clockDifferenceMs = hourMs;

/**
 * One sweep for each table whose rows expire, with how long rows are kept after that. Until then, requests
 * get a precise error, and operators can look at emails.
 */
export const sweepsOf = (ctx: Context): Sweeps => ({
  sessions: sweepAfter(
    {
      before: 31 * dayMs,
      // Since they started. A day longer than their browsers stay known.
      distrusted_before: knownBrowserTtlSeconds * 1000 + dayMs,
    },
    sweepSessions,
  ),
  runs: sweepAfter({ before: clockDifferenceMs }, sweepRuns),
  'service tokens': sweepAfter({ before: hourMs }, sweepServiceTokens),
  'device authorizations': sweepAfter({ before: hourMs }, sweepAuthorizations),
  'authorization codes': sweepAfter({ before: hourMs }, sweepCodes),
  'magic links': sweepAfter({ before: dayMs }, sweepMagicLinks),
  'spent challenges': sweepAfter({ before: clockDifferenceMs }, sweepSpentChallenges),
  'email changes': sweepAfter(
    {
      before: dayMs,
      // Since the change: until it cannot be undone and its former address no longer takes precedence.
      changed_before: (formerAddressTtlSeconds + noticeTtlSeconds) * 1000 + dayMs,
    },
    sweepEmailChanges,
  ),
  'feed events': sweepAfter({ before: feedRetentionSeconds * 1000 + clockDifferenceMs }, sweepFeedEvents),
  'feed readers': sweepAfter({ before: readerTtlMs + clockDifferenceMs }, sweepReaders),
  notices: sweepAfter({ before: dayMs }, sweepNotices),
  'notice windows': sweepAfter({ before: clockDifferenceMs }, sweepNoticeWindows),
  'rate limits': sweepAfter({ before: clockDifferenceMs }, sweepRateLimits),
  // Sent ones long enough for support to look at them.
  outbox: sweepAfter({ sent_before: 7 * dayMs, dead_before: 30 * dayMs }, sweepOutbox),
  events: sweepAfter({ before: ctx.config.eventRetentionSeconds * 1000 }, (_, { before, limit }) =>
    sweepEvents(ctx, before, limit),
  ),
});

/** Deletes rows that are no longer needed, announces the ends of keys and counts metrics, until stopped. */
export function startUpkeep(ctx: Context): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const jobs = [
    keepSweeping(ctx, sweepsOf(ctx), signal),
    keepCounting(ctx, signal),
    keepAnnouncingKeyEnds(ctx, signal),
  ];
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all([...jobs, writeFailedSignIns(ctx)]);
    },
  };
}

/** Connects all capabilities to their routes. The only place that knows all of them. */
export function createApp(ctx: Context, lifecycle: Lifecycle): App {
  const routes = new Routes();
  const api = createApi(ctx, routes, {
    authenticate: (presented) => authenticate(ctx, presented),
    authenticateService: (sent) => authenticateService(ctx, sent),
    requireRight,
    missingCredential,
    requireBrowserSession: (caller) => requireBrowserSession(ctx, caller),
    requireRecentSignIn: (caller) => requireRecentSignIn(ctx, caller),
  });
  const heldPolls = openHeldPolls(ctx);
  const signingKeys = openSigningKeys(ctx);
  const addIdentityToken = identityTokens(ctx, signingKeys);
  const clients = openClients(ctx);
  const authorizing = {
    clients,
    userOfIdToken: async (token: string) => (await readIdentityToken(ctx, signingKeys, token))?.userId,
  };
  const grants = {
    [authorizationCodeGrantType]: authorizationCodeGrant(addIdentityToken),
    [deviceCodeGrantType]: deviceCodeGrant(heldPolls),
    [refreshGrantType]: refreshGrant(addIdentityToken),
    [tokenExchangeGrantType]: tokenExchangeGrant,
    [clientCredentialsGrantType]: clientCredentialsGrant,
    [federationGrantType]: federationGrant(openIssuers(ctx)),
  };
  tokenRoutes(api, ctx, grants, clients.identify, noticingReplays(ctx));
  authorizeRoutes(api, ctx, authorizing);
  deviceRoutes(api, ctx, heldPolls);
  magicLinkRoutes(api, ctx);
  passkeyRoutes(api, ctx);
  sessionRoutes(api, ctx, touches);
  accountRoutes(api, ctx);
  emailChangeRoutes(api, ctx);
  wholeAccountRoutes(api, ctx, { clients, heldPolls });
  operatorRoutes(api, ctx);
  organizationRoutes(api, ctx);
  eventRoutes(api, ctx);
  scopeRoutes(api, ctx);
  introspectionRoutes(api, ctx, signingKeys);
  openidRoutes(api, ctx, signingKeys);
  feedRoutes(api, ctx, signingKeys);
  discoveryRoutes(api, ctx, signingKeys);

  monitoringRoutes(routes, ctx, lifecycle, {
    version: manifest.version,
    countWaitingMails: () => countWaitingMails(ctx),
  });
  documentationRoutes(routes, ctx, manifest.version);
  pageRoutes(routes, ctx.config);
  authorizePage(routes, ctx, authorizing);
  signOutPage(routes, ctx, signingKeys);
  if (ctx.config.devMailbox) mailboxRoutes(routes, ctx, templates);
  routes.initializeCounts(ctx.metrics);
  routes.rejectOtherMethods(ctx.config);
  return createServer(ctx, lifecycle, routes, notFoundPage(ctx.config));
}
