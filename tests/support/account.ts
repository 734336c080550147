// What a person does with an account: passkeys, notices and changes of address, in the service of openApp.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import type { Answer, Mail, TestApp, Tokens } from './app.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';

/** The service's answer in a few characters: `204`, or `409 conflict`. */
export const outcome = ({ status, body }: Answer): string =>
  body?.error ? `${status} ${body.error}` : String(status);

export const newAuthenticator = (app: TestApp): Authenticator =>
  createAuthenticator({ origin: app.ctx.config.baseUrl });

/** Adds a passkey to the account of a login. */
export async function addPasskey(
  app: TestApp,
  { access_token: token }: Tokens,
  authenticator: Authenticator,
  name = 'key',
): Promise<Answer> {
  const { body } = await app.ask('POST', '/passkey/register/challenge', { token });
  return app.ask('POST', '/passkey/register', { token, json: { ...authenticator.create(body), name } });
}

/** Logs in with a passkey. */
export async function passkeyLogin(app: TestApp, authenticator: Authenticator): Promise<Answer> {
  const { body } = await app.ask('POST', '/passkey/login/challenge');
  return app.ask('POST', '/passkey/login', { json: authenticator.get(body) });
}

/** Whether an access token is good. */
export const isLive = async (app: TestApp, { access_token: token }: Tokens): Promise<boolean> =>
  (await app.ask('GET', '/me', { token })).status === 200;

export const subjects = {
  newDevice: 'A new device signed in to your Latchkey account',
  newBrowser: 'New sign-in to your Latchkey account',
  passkeyAdded: 'A passkey was added to your Latchkey account',
  passkeyRemoved: 'A passkey was removed from your Latchkey account',
  emailChanged: 'The email address of your Latchkey account was changed',
  theft: 'A session of your Latchkey account was ended because its token was used twice',
  repeatedElsewhere: 'A session of your Latchkey account was used from two places',
  confirmAddress: 'Confirm your new address for Latchkey',
  taken: 'Someone tried to use your email address',
  undone: 'What was undone in your Latchkey account',
} as const;

/** The mails to an address with a subject, newest first. */
export const mailsTo = async (app: TestApp, to: string, subject: string): Promise<Mail[]> =>
  (await app.mails()).filter((mail) => mail.to === to && mail.subject === subject);

export const tokenIn = (mail: { text: string } | undefined): string =>
  /^http\S+#token=(lk_\S+)$/m.exec(mail?.text ?? '')?.[1] ?? '';

/** Says "this was not me" with the newest notice to an address with a subject. */
export async function disown(app: TestApp, to: string, subject: string): Promise<Answer> {
  const [notice] = await mailsTo(app, to, subject);
  return app.ask('POST', '/notices/disown', { json: { token: tokenIn(notice) } });
}

/** Asks for a new address; the token of the link that is sent there. */
export async function askForAddress(app: TestApp, tokens: Tokens, email: string): Promise<string> {
  const answer = await app.ask('POST', '/me/email', { token: tokens.access_token, json: { email } });
  if (answer.status !== 202) throw new Error(`new address: ${answer.text}`);
  return tokenIn((await mailsTo(app, email, subjects.confirmAddress)).at(0));
}

/** Confirms a change of address as the owner of the account can: by the address that it has now. */
export async function verifyAddress(app: TestApp, token: string): Promise<Answer> {
  const current_email = await addressBehind(app, token);
  return app.ask('POST', '/me/email/verify', { json: { token, current_email } });
}

async function addressBehind(app: TestApp, token: string): Promise<string> {
  const id = readHandle(app.ctx.keys, 'emailChange', token)?.subject.toString('base64url') ?? '';
  const [user] = await app.ctx.db.read.run<{ email: string }>(
    `SELECT u.email FROM users u JOIN email_changes c ON c.user_id = u.id WHERE c.id = '${id}'`,
    [],
  );
  return user?.email ?? 'nobody@example.com';
}
