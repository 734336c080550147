/** How many requests are allowed in a window. The window starts with the first request. */
export interface Quota {
  readonly quota: number;
  readonly windowSeconds: number;
}

interface Rule extends Quota {
  /** Count for all nodes together. Other limits protect a single node and are counted in its memory. */
  readonly shared: boolean;
}

/** Every rate limit with its default. The code that takes a limit decides what counts. */
export const rateLimitRules = {
  /** Requested mails: by recipient and client network, by recipient, by client address. */
  mails_by_pair: { quota: 5, windowSeconds: 900, shared: true },
  mails_by_recipient: { quota: 20, windowSeconds: 3600, shared: true },
  mails_by_client: { quota: 30, windowSeconds: 3600, shared: true },
  /** Requested mails by recipient and browser. Replaces the three above if the browser signed in to the address before. */
  mails_by_known_browser: { quota: 5, windowSeconds: 900, shared: true },
  /** Requested email changes, by account. Their mails count as mails, too. */
  email_changes: { quota: 10, windowSeconds: 3600, shared: true },
  /** Changes to the profile and to passkey names, per account. */
  account_changes: { quota: 60, windowSeconds: 60, shared: true },
  /**
   * Security notices, by account and kind. None is refused: a digest at the end of the window lists those beyond the
   * quota. They are counted in the transaction that causes them, even with rate limits turned off.
   */
  notices: { quota: 10, windowSeconds: 3600, shared: true },
  /** Wrong user codes at verify, approve and deny together: by user, by client address. */
  user_codes_by_user: { quota: 10, windowSeconds: 600, shared: true },
  user_codes_by_client: { quota: 30, windowSeconds: 600, shared: true },
  /** Wrong email codes, by client address. Each code has its own maximum of attempts as well. */
  email_codes_by_client: { quota: 120, windowSeconds: 600, shared: true },
  /** Device sign-ins started, by client address. */
  device_authorizations: { quota: 30, windowSeconds: 60, shared: true },
  /** Links of sign-ins and email changes, by client address. Forged links do not count. */
  link_logins: { quota: 600, windowSeconds: 60, shared: false },
  /** WebAuthn challenges and responses to them, by client address. */
  passkey_challenges: { quota: 3000, windowSeconds: 60, shared: false },
  passkey_responses: { quota: 1200, windowSeconds: 60, shared: false },
  /** Polls, by device code. For clients that ignore `slow_down`. */
  device_polls: { quota: 600, windowSeconds: 60, shared: false },
  /** Refreshes, by session, so that many people behind one address do not affect each other. */
  refreshes: { quota: 600, windowSeconds: 60, shared: false },
} as const satisfies Record<string, Rule>;

export type RateLimitName = keyof typeof rateLimitRules;

export const rateLimitNames = Object.keys(rateLimitRules) as RateLimitName[];

/** The name of the setting of a limit, such as `LATCHKEY_LIMIT_MAILS_BY_PAIR`. Its value is `quota/seconds`. */
export const rateLimitSetting = (name: RateLimitName): string => `LATCHKEY_LIMIT_${name.toUpperCase()}`;
