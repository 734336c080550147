/** So many in a window; the window begins with the first of them. */
export interface Quota {
  readonly quota: number;
  readonly windowSeconds: number;
}

interface Rule extends Quota {
  /** Counted for all nodes together. The others guard the work of one node and are counted in its memory. */
  readonly shared: boolean;
}

/** Every limit with its default. What counts against it is decided where it is taken. */
export const rateLimitRules = {
  /** Mails asked for: by address written to and client network, by address written to, by client address. */
  mails_by_pair: { quota: 5, windowSeconds: 900, shared: true },
  mails_by_recipient: { quota: 20, windowSeconds: 3600, shared: true },
  mails_by_client: { quota: 30, windowSeconds: 3600, shared: true },
  /** The same by address and browser, in the place of the three, where the browser signed in to it before. */
  mails_by_known_browser: { quota: 5, windowSeconds: 900, shared: true },
  /** Links to a new address asked for, by account; they count as mails, too. */
  email_changes: { quota: 10, windowSeconds: 3600, shared: true },
  /** Changes of a profile, of the names of passkeys and of keys, by account. */
  account_changes: { quota: 60, windowSeconds: 60, shared: true },
  /**
   * Notices by account and kind. None is refused: those beyond stand in a digest at the end of the window. They are
   * counted with the notices themselves, in the transaction of their cause, and also where the limits are off.
   */
  notices: { quota: 10, windowSeconds: 3600, shared: true },
  /** Wrong user codes (verify, approve and deny together): by signed-in user, by client address. */
  user_codes_by_user: { quota: 10, windowSeconds: 600, shared: true },
  user_codes_by_client: { quota: 30, windowSeconds: 600, shared: true },
  /** Wrong e-mail codes by client address, beyond the five tries of each code. */
  email_codes_by_client: { quota: 120, windowSeconds: 600, shared: true },
  /** Device logins started, by client address. */
  device_authorizations: { quota: 30, windowSeconds: 60, shared: true },
  /** Links that were really issued and are presented, by client address. */
  link_logins: { quota: 600, windowSeconds: 60, shared: false },
  /** WebAuthn challenges, and responses to them, by client address. */
  passkey_challenges: { quota: 3000, windowSeconds: 60, shared: false },
  passkey_responses: { quota: 1200, windowSeconds: 60, shared: false },
  /** Polls by device code: `slow_down` is for those who listen, this for those who do not. */
  device_polls: { quota: 600, windowSeconds: 60, shared: false },
  /** Refreshes by session, so that many people behind one address are never in each other's way. */
  refreshes: { quota: 600, windowSeconds: 60, shared: false },
} as const satisfies Record<string, Rule>;

export type RateLimitName = keyof typeof rateLimitRules;

export const rateLimitNames = Object.keys(rateLimitRules) as RateLimitName[];

/** The setting of a limit: `LATCHKEY_LIMIT_MAILS_BY_PAIR`, its value `quota/seconds`. */
export const rateLimitSetting = (name: RateLimitName): string => `LATCHKEY_LIMIT_${name.toUpperCase()}`;
