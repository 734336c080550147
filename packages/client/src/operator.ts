import { type ApiOptions, createApi } from './api.ts';
import type { Answer } from './operations.ts';
import { type FetchPage, pagesOf } from './pages.ts';
import { authorizationOf } from './service-key.ts';

export type User = Answer<'getUser'>;
export type AddressReport = Answer<'reportOnAddress'>;
export type UserSession = Answer<'listUserSessions'>['sessions'][number];
export type UserEvent = Answer<'listUserEvents'>['events'][number];
export type UserEmail = Answer<'listUserEmails'>['emails'][number];

export interface OperatorOptions extends Pick<ApiOptions, 'server' | 'fetch' | 'timeoutMs' | 'insecureHttp'> {
  /** `id:secret` of a service with the right `operate`. */
  readonly serviceKey: string;
}

/**
 * What a support tool may see and do. Lists are read a page at a time, as far as they are consumed. Each act is recorded in the
 * security log of the user, with the id of the service. Everything throws a `LatchkeyError`: `not_found` for an unknown user,
 * `unauthorized_client` without the right.
 */
export interface Operator {
  /** All users by address, or those with a text in their address or name. `findUser` is faster for a known address. */
  users(search?: string): AsyncIterable<User>;
  findUser(email: string): Promise<User>;
  /** Why a person with this address can or cannot sign in, even without an account. */
  report(email: string): Promise<AddressReport>;
  getUser(userId: string): Promise<User>;
  /** The active sessions, newest first. */
  sessions(userId: string): AsyncIterable<UserSession>;
  /** The security log, newest first. */
  events(userId: string): AsyncIterable<UserEvent>;
  /** What was emailed to the user, newest first. */
  emails(userId: string): AsyncIterable<UserEmail>;
  endSession(userId: string, sessionId: string): Promise<void>;
  /** Ends all sessions and keys. */
  endAllSessions(userId: string): Promise<void>;
  /** Ends all sessions and keys, and refuses new ones. */
  disable(userId: string): Promise<void>;
  enable(userId: string): Promise<void>;
}

/**
 * The operator's endpoints of one service.
 * @throws {TypeError} for a malformed service key, or plain http to another machine
 * @example
 * const operator = createOperator({ server: 'https://login.example', serviceKey });
 * const user = await operator.findUser('ada@example.com');
 * for await (const { kind, outcome } of operator.emails(user.id)) console.log(kind, outcome);
 */
export function createOperator({ serviceKey, ...options }: OperatorOptions): Operator {
  const headers = { Authorization: authorizationOf(serviceKey) };
  const api = createApi(options);
  const of = (userId: string) => ({ params: { user_id: userId }, headers });
  return {
    users: (search) =>
      entriesOf('users', (query) =>
        api.call('listUsers', { headers, query: { ...query, ...(search ? { search } : {}) } }),
      ),
    findUser: (email) => api.call('lookupUser', { headers, body: { email } }),
    report: (email) => api.call('reportOnAddress', { headers, body: { email } }),
    getUser: (userId) => api.call('getUser', of(userId)),
    sessions: (userId) =>
      entriesOf('sessions', (query) => api.call('listUserSessions', { ...of(userId), query })),
    events: (userId) => entriesOf('events', (query) => api.call('listUserEvents', { ...of(userId), query })),
    emails: (userId) => entriesOf('emails', (query) => api.call('listUserEmails', { ...of(userId), query })),
    endSession: (userId, sessionId) =>
      api.call('revokeUserSession', { params: { user_id: userId, session_id: sessionId }, headers }),
    endAllSessions: (userId) => api.call('revokeUserSessions', of(userId)),
    disable: (userId) => api.call('disableUser', of(userId)),
    enable: (userId) => api.call('enableUser', of(userId)),
  };
}

async function* entriesOf<Name extends string, Entry>(
  name: Name,
  fetchPage: FetchPage<Name, Entry>,
): AsyncGenerator<Entry> {
  for await (const page of pagesOf(fetchPage)) yield* page[name];
}
