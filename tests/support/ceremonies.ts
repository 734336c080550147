// The requests of passkey ceremonies, raw, for what the service must refuse.

import type { Answer, Ask, TestApp, Tokens } from './app.ts';
import type { CreationOptions, RequestOptions } from './authenticator.ts';

export const creationOptions = async (
  app: TestApp,
  { access_token: token }: Tokens,
): Promise<CreationOptions> => (await app.ask('POST', '/passkey/register/challenge', { token })).body;

export const requestOptions = async (app: TestApp): Promise<RequestOptions> =>
  (await app.ask('POST', '/passkey/login/challenge')).body;

/** Registers what an authenticator has created. */
export const postRegistration = (
  app: TestApp,
  { access_token: token }: Tokens,
  json: unknown,
): Promise<Answer> => app.ask('POST', '/passkey/register', { token, json });

/** Signs in with what an authenticator has signed. */
export const postSignIn = (app: TestApp, json: unknown, ask: Ask = {}): Promise<Answer> =>
  app.ask('POST', '/passkey/login', { ...ask, json });
