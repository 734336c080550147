/** The groups of the API reference, in order; those with endpoints are tags of the OpenAPI document. */
export const endpointGroups = {
  device: {
    title: 'Device sign-in',
    description:
      'Signs in a command line or another program without a browser of its own (RFC 8628). The program shows a code, the user approves it in a browser, and the program gets its tokens.',
  },
  tokens: {
    title: 'Token verification',
    description:
      'Tells a service whether a token that it received is active, whose it is, and what it may do. This is the one call a service needs to accept the tokens of this service.',
  },
  authorization: {
    title: 'Signing in to programs',
    description:
      'Signs a person in to a program that can open a browser (RFC 6749 section 4.1, with PKCE). The program sends the browser to `/authorize`, the person approves, and the program gets a code that the token endpoint exchanges for tokens.',
  },
  'sign-in-links': {
    title: 'Sign-in links',
    description:
      'Signs in a person by email, with a link or with a code that they type. A new address becomes a new account, if sign-up is open.',
  },
  passkeys: {
    title: 'Passkeys',
    description:
      'Registers passkeys and signs in with them (WebAuthn Level 3). Options and responses have the format of the browser API, so a page passes them on unchanged.',
  },
  sessions: {
    title: 'Sessions and tokens',
    description:
      'A session is one sign-in and everything derived from it. Its access token expires after a few hours; its refresh token, which works once, gets the next pair. Revoking takes effect before the response is sent.',
  },
  profile: {
    title: 'Profile',
    description: 'The account of the user: name, picture, language and time zone, and its email address.',
  },
  'security-log': {
    title: 'Security log',
    description:
      'What happened to the account. Important events are emailed to the user, with a "This wasn\'t me" link.',
  },
  keys: {
    title: 'Keys',
    description:
      'Long-lived credentials for programs without a person, such as a nightly build. A key is sent wherever an access token goes, and allows only what its scope says.',
  },
  organizations: {
    title: 'Organizations',
    description:
      'The organizations of a user, for the user; and organizations and their members, for services that may manage them.',
  },
  users: {
    title: 'Users',
    description: 'Looks up users, for services that may read them.',
  },
  operators: {
    title: 'Operators',
    description:
      'For support tools: finds users, shows their sessions, security log and emails, and disables or signs out a user. A service with the right operate cannot act for a user, change an address or add a passkey.',
  },
  feed: {
    title: 'Feed',
    description:
      'Tells services what ended or changed, within milliseconds, so that they can keep what they know about a token instead of asking each time.',
  },
  discovery: {
    title: 'Discovery',
    description: 'Documents at known addresses, from which programs configure themselves.',
  },
  operations: {
    title: 'Operations',
    description: 'For operators: health checks and metrics.',
  },
} as const satisfies Readonly<Record<string, EndpointGroupText>>;

interface EndpointGroupText {
  readonly title: string;
  /** Full sentences. */
  readonly description: string;
}

export type EndpointGroup = keyof typeof endpointGroups;
