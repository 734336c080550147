/** In characters unless the name says otherwise. Longer input is refused (400 or 413), never cut. */
export const fieldLimits = {
  bodyBytes: 64 * 1024,
  token: 1024,
  emailAddress: 254,
  clientText: 100,
  /** Long enough for any list of 20 scopes, so that one scope too many is reported as such. */
  scope: 4096,
  /** Names in one scope. */
  scopes: 20,
  scopeName: 64,
  /** What a person reads about a scope before approving it. */
  scopeSentence: 200,
  /** Scopes that one service declares. */
  serviceScopes: 100,
  /** Resources of other services that one service may ask tokens for. */
  serviceReach: 100,
  /** Redirect URIs of one service, and as many after signing out. */
  serviceRedirects: 50,
  redirectUri: 2048,
  /** Of an authorization request. */
  state: 2048,
  nonce: 512,
  hint: 512,
  /** With 100 organizations. */
  idToken: 16_384,
  /** Who an identity token is for. */
  audience: 2048,
  resource: 2048,
  /** Of `authorization_details`, as UTF-8. */
  authorizationDetailsBytes: 4096,
  keyName: 100,
  /** Active keys per user. One more is a `conflict`. */
  keys: 50,
  /** Of a key that trusts an issuer. */
  trustClaims: 20,
  /** The name or the value of one of them. */
  trustClaim: 1000,
  issuer: 2048,
  /** The token of an issuer. */
  assertion: 16_384,
  keyMinSeconds: 3600,
  keyMaxSeconds: 31_536_000,
  /** How many sessions and keys a run can be within. */
  runDepth: 3,
  /** Active runs directly within one session or key. One more is a `conflict`. */
  runsWithin: 1_000,
  /** Active runs at any depth below one login or key. One more is a `conflict`. */
  runsBelow: 20_000,
  runMinSeconds: 60,
  runMaxSeconds: 3_600,
  runDefaultSeconds: 900,
  /** Letters and digits; hyphens do not count. */
  organizationSlug: 39,
  organizationName: 100,
  userCode: 64,
  emailCode: 64,
  profileName: 100,
  avatarUrl: 2048,
  locale: 64,
  passkeyName: 100,
  /** 1023 bytes in base64url. @see WebAuthn Level 3 section 7.1 */
  credentialId: 1364,
  clientDataJson: 8192,
  attestationObject: 32_768,
  authenticatorData: 8192,
  signature: 2048,
  userHandle: 128,
  /** Per account; a deployment may allow fewer. One more is a `conflict`. */
  passkeys: 20,
  transports: 16,
  transport: 32,
  timeZone: 64,
  idempotencyKey: 128,
  requestId: 128,
  cursor: 256,
  search: 200,
  pageSize: 100,
  /** Events in one answer of the feed. */
  feedEvents: 1000,
  defaultFeedEvents: 100,
  /** Events acknowledged by one request; so many fit into a body. */
  feedAcknowledgements: 2000,
  feedReader: 64,
  /** Of a service, besides its own. One more is a `conflict`. */
  feedReaders: 1000,
  jti: 64,
  setErrorDescription: 1000,
  defaultPageSize: 50,
} as const;
