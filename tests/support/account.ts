// What people do with an account: passkeys, notices and changes of address.

import { expect } from 'bun:test';
import type { Mail, TestApp, Tokens } from './app.ts';
import type { Answer, Ask } from './ask.ts';
import {
  type Authenticator,
  type AuthenticatorOptions,
  type CreationOptions,
  createAuthenticator,
  type RegistrationForgery,
  type RequestOptions,
} from './authenticator.ts';
import type { Access, Service } from './driver.ts';

/** A response in short: `204`, or `409 conflict`. */
export const outcome = ({ status, body }: Answer): string =>
  body?.error ? `${status} ${body.error}` : String(status);

export const newAuthenticator = (app: Service, options: Partial<AuthenticatorOptions> = {}): Authenticator =>
  createAuthenticator({ origin: app.url, ...options });

let addresses = 0;

/** An address that no other test has used. */
export const newAddress = (): string => `person-${addresses++}@example.com`;

let peers = 0;

/** A client address in a /24 that no other test uses. */
export const newPeer = (): string => `10.${peers >> 8}.${peers++ & 255}.1`;

/** The headers of a request that a page of the service sends. */
export const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' };

/** Where a sign-in comes from, and whether it starts a session in a cookie. */
interface SignInOptions extends Pick<Ask, 'peer' | 'headers' | 'cookie'> {
  readonly session?: 'cookie';
}

/** Signs in by mail; returns the response, which tests may also expect to be a refusal. */
export async function signInByMail(
  app: Service,
  email: string,
  { session, ...sent }: SignInOptions = {},
): Promise<Answer> {
  const token = await app.linkTokenFor(email);
  const query = session === undefined ? '' : `?session=${session}`;
  return app.ask('POST', `/magic_link/verify${query}`, { ...sent, json: { token } });
}

/** The cookies that a response sets, as the browser sends them back: `name=value`. */
export const cookiesIn = ({ headers }: Answer): string[] =>
  headers.getSetCookie().map((cookie) => cookie.split(';')[0]!);

/** The session cookie that a response sets. */
export const sessionCookieIn = (answer: Answer): string =>
  cookiesIn(answer).find((cookie) => /^(__Host-)?latchkey_session=/.test(cookie)) ?? '';

/** Signs in by mail as a page of the service does; returns the session cookie. */
export async function cookieByMail(app: Service, email: string, cookie?: string): Promise<string> {
  const options = { headers: sameOrigin, session: 'cookie', ...(cookie ? { cookie } : {}) } as const;
  return sessionCookieIn(await signInByMail(app, email, options));
}

interface NewPasskey extends Partial<AuthenticatorOptions> {
  readonly name?: string;
  readonly forgery?: RegistrationForgery;
}

/** Adds a passkey to the account that the tokens belong to. */
export async function addPasskey(
  app: Service,
  tokens: Access,
  authenticator: Authenticator,
  name = 'key',
): Promise<Answer> {
  const token = tokens.access_token;
  const challenge = await app.ask('POST', '/passkey/register/challenge', { token });
  if (challenge.status !== 200) return challenge;
  return postRegistration(app, tokens, { ...authenticator.create(challenge.body), name });
}

/** Adds a passkey of a new authenticator, which the service names unless `name` does. `forgery`: what it says of itself. */
export async function newPasskey(
  app: Service,
  tokens: Access,
  { name, forgery = {}, ...options }: NewPasskey = {},
): Promise<Authenticator> {
  const authenticator = newAuthenticator(app, options);
  const created = authenticator.create(await creationOptions(app, tokens), forgery);
  expect((await postRegistration(app, tokens, { ...created, name })).status).toBe(201);
  return authenticator;
}

/** Signs in with a passkey. */
export async function passkeyLogin(app: Service, authenticator: Authenticator): Promise<Answer> {
  const challenge = await app.ask('POST', '/passkey/login/challenge');
  return challenge.status === 200 ? postSignIn(app, authenticator.get(challenge.body)) : challenge;
}

// The requests of passkey ceremonies, raw, for what the service must refuse.

export const creationOptions = async (
  app: Service,
  { access_token: token }: Access,
): Promise<CreationOptions> => (await app.ask('POST', '/passkey/register/challenge', { token })).body;

export const requestOptions = async (app: Service): Promise<RequestOptions> =>
  (await app.ask('POST', '/passkey/login/challenge')).body;

/** Registers what an authenticator has created. */
export const postRegistration = (
  app: Service,
  { access_token: token }: Access,
  json: unknown,
): Promise<Answer> => app.ask('POST', '/passkey/register', { token, json });

/** Signs in with what an authenticator has signed. */
export const postSignIn = (app: Service, json: unknown, ask: Ask = {}): Promise<Answer> =>
  app.ask('POST', '/passkey/login', { ...ask, json });

/** Adds a passkey and signs in with it. */
export async function throughPasskey(app: Service, login: Access, name = 'key') {
  const authenticator = newAuthenticator(app);
  const added = await addPasskey(app, login, authenticator, name);
  expect(added.status).toBe(201);
  const answer = await passkeyLogin(app, authenticator);
  expect(answer.status).toBe(200);
  return { authenticator, id: added.body.id as string, login: answer.body as Tokens };
}

/** Whether the service accepts the access token. */
export const isLive = async (app: Service, { access_token: token }: Access): Promise<boolean> =>
  (await app.ask('GET', '/me', { token })).status === 200;

export const subjects = {
  newDevice: 'A new device signed in to your Latchkey account',
  newApp: 'An application was signed in to your Latchkey account',
  newBrowser: 'New sign-in to your Latchkey account',
  passkeyAdded: 'A passkey was added to your Latchkey account',
  passkeyRemoved: 'A passkey was removed from your Latchkey account',
  keyAdded: 'An API key was created for your Latchkey account',
  keyRemoved: 'An API key of your Latchkey account was removed',
  emailChanged: 'The email address of your Latchkey account was changed',
  theft: 'A session of your Latchkey account was ended because its token was used twice',
  repeatedElsewhere: 'A session of your Latchkey account was used from two places',
  signInLinkIssued: 'A sign-in link to your Latchkey account was issued',
  confirmAddress: 'Confirm your new address for Latchkey',
  taken: 'Someone tried to use your email address',
  undone: 'What was undone in your Latchkey account',
} as const;

/** The mails to an address with this subject, newest first. */
export const mailsTo = async (app: TestApp, to: string, subject: string): Promise<Mail[]> =>
  (await app.mails()).filter((mail) => mail.to === to && mail.subject === subject);

/** The token in the link of a mail. */
export const tokenIn = (mail: { text: string } | undefined): string =>
  /^http\S+#token=(lk_\S+)$/m.exec(mail?.text ?? '')?.[1] ?? '';

/** Answers the newest notice with this subject with "This wasn't me". */
export async function disown(app: TestApp, to: string, subject: string): Promise<Answer> {
  const [notice] = await mailsTo(app, to, subject);
  return app.ask('POST', '/notices/disown', { json: { token: tokenIn(notice) } });
}

/** Requests a change of address and returns the token mailed to the new address, or `''` if no link was sent. */
export async function askForAddress(app: TestApp, tokens: Tokens, email: string): Promise<string> {
  await app.api.call('requestEmailChange', { accessToken: tokens.access_token, body: { email } });
  return tokenIn((await mailsTo(app, email, subjects.confirmAddress)).at(0));
}

/** Changes the address of the account that the tokens belong to. */
export async function changeAddress(app: TestApp, tokens: Tokens, email: string): Promise<Answer> {
  const json = { token: await askForAddress(app, tokens, email) };
  return app.ask('POST', '/me/email/verify', { json, token: tokens.access_token });
}
