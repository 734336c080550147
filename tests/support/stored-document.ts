// Credentials as a storage holds them.

export const login = {
  server: 'https://a.example',
  user: { id: 'usr_1', email: 'ada@example.com' },
  logged_in_at: '2026-01-01T00:00:00.000Z',
  access_token: 'lk_at_secret',
  access_token_expires_at: 1,
  access_token_lifetime_seconds: 14_400,
  refresh_token: 'lk_rt_secret',
  idempotency_key: 'key',
};
export const logins = { current: 'ada@example.com', logins: { 'ada@example.com': login } };
export const document = {
  version: 1,
  current_server: login.server,
  servers: { [login.server]: logins },
} as const;
export const empty = { version: 1, current_server: null, servers: {} } as const;
