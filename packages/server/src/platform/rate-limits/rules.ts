/** How many requests are allowed in a window. The window starts with the first request. */
export interface Quota {
  readonly quota: number;
  readonly windowSeconds: number;
}

interface Rule extends Quota {
  /** Count for all nodes together. Other limits protect a single node and are counted in its memory. */
  readonly shared: boolean;
  /** What counts, and by which key, in Markdown. */
  readonly description: string;
}

/** Every rate limit with its default. The code that takes a limit decides what counts. */
export const rateLimitRules = {
  mails_by_pair: {
    quota: 5,
    windowSeconds: 900,
    shared: true,
    description: 'Requested emails, by recipient and network of the client.',
  },
  mails_by_recipient: {
    quota: 20,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested emails, by recipient.',
  },
  mails_by_client: {
    quota: 30,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested emails, by client address.',
  },
  mails_by_known_browser: {
    quota: 5,
    windowSeconds: 900,
    shared: true,
    description:
      'Requested emails, by recipient and browser. Replaces the three limits above if the browser signed in to that address before.',
  },
  email_changes: {
    quota: 10,
    windowSeconds: 3600,
    shared: true,
    description: 'Requested email changes, by account. Their emails also count as requested emails.',
  },
  account_changes: {
    quota: 60,
    windowSeconds: 60,
    shared: true,
    description: 'Changes to the profile and to names of passkeys, by account.',
  },
  // Counted in the transaction that causes the notice.
  notices: {
    quota: 10,
    windowSeconds: 3600,
    shared: true,
    description:
      'Security notices, by account and kind. None is lost: a digest at the end of the window lists those beyond the quota. Applies even with `LATCHKEY_RATE_LIMITS=off`.',
  },
  user_codes_by_user: {
    quota: 10,
    windowSeconds: 600,
    shared: true,
    description: 'Wrong user codes of devices, by account. Verifying, approving and denying count together.',
  },
  user_codes_by_client: {
    quota: 30,
    windowSeconds: 600,
    shared: true,
    description: 'Wrong user codes of devices, by client address.',
  },
  email_codes_by_client: {
    quota: 120,
    windowSeconds: 600,
    shared: true,
    description:
      'Wrong email codes, by client address. Each code also has its own maximum of attempts (`LATCHKEY_EMAIL_CODE_TRIES`).',
  },
  runs: {
    quota: 1200,
    windowSeconds: 60,
    shared: true,
    description: 'Runs made, by the session or key at their root.',
  },
  service_tokens: {
    quota: 1200,
    windowSeconds: 60,
    shared: true,
    description: 'Tokens of services that act for no user, by service.',
  },
  device_authorizations: {
    quota: 30,
    windowSeconds: 60,
    shared: true,
    description: 'Device sign-ins started, by client address.',
  },
  authorizations: {
    quota: 300,
    windowSeconds: 60,
    shared: true,
    description: 'Approved authorization requests, by account.',
  },
  client_documents: {
    quota: 30,
    windowSeconds: 60,
    shared: true,
    description: 'Metadata documents of clients fetched, by client address.',
  },
  link_logins: {
    quota: 600,
    windowSeconds: 60,
    shared: false,
    description: 'Links of sign-ins and email changes, by client address. Forged links do not count.',
  },
  passkey_challenges: {
    quota: 3000,
    windowSeconds: 60,
    shared: false,
    description: 'WebAuthn challenges, by client address.',
  },
  passkey_responses: {
    quota: 1200,
    windowSeconds: 60,
    shared: false,
    description: 'Responses to WebAuthn challenges, by client address.',
  },
  device_polls: {
    quota: 600,
    windowSeconds: 60,
    shared: false,
    description: 'Polls, by device code, for clients that ignore `slow_down`.',
  },
  refreshes: {
    quota: 600,
    windowSeconds: 60,
    shared: false,
    description: 'Refreshes, by session, so that many people behind one address do not affect each other.',
  },
} as const satisfies Record<string, Rule>;

export type RateLimitName = keyof typeof rateLimitRules;

export const rateLimitNames = Object.keys(rateLimitRules) as RateLimitName[];

/** The name of the setting of a limit, such as `LATCHKEY_LIMIT_MAILS_BY_PAIR`. Its value is `quota/seconds`. */
export const rateLimitSetting = (name: RateLimitName): string => `LATCHKEY_LIMIT_${name.toUpperCase()}`;
