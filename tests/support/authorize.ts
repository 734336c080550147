// Authorization requests, as clients make them and as the page approves them.

import { createHash } from 'node:crypto';
import type { AuthorizationParameters } from '@latchkey/contract/authorize';
import type { Answer, Ask, TestApp, Tokens } from './app.ts';
import type { Access } from './driver.ts';

export const redirectUri = 'https://app.example/callback';

/** A code verifier and its challenge. @see RFC 7636 appendix B */
export const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challenge = createHash('sha256').update(verifier).digest('base64url');

/** A request of a client, which asks for its profile unless `changed` says otherwise. Undefined members are left out. */
export const requestOf = (
  client_id: string,
  changed: { readonly [Name in keyof AuthorizationParameters]?: string | undefined } = {},
): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      response_type: 'code',
      client_id,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      scope: 'profile',
      state: 'a state',
      ...changed,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** A request of the command line. */
export const commandLineRequest = (changed: Parameters<typeof requestOf>[1] = {}): Record<string, string> =>
  requestOf('latchkey-cli', {
    redirect_uri: 'http://127.0.0.1:41234/path',
    response_mode: 'form_post',
    scope: undefined,
    device_name: 'den',
    ...changed,
  });

/** What the response to the client says, whichever way it takes. */
export function responseIn({ body, text }: Answer): Record<string, string> {
  if (body?.form_post) return body.form_post.fields;
  if (typeof body?.redirect !== 'string') throw new Error(`no response for the client: ${text}`);
  return Object.fromEntries(new URL(body.redirect).searchParams);
}

/** Asks with the token of a browser session. */
export const asBrowser = (t: TestApp, tokens: Access, path: string, json: object): Promise<Answer> =>
  t.ask('POST', `/authorize/${path}`, { token: tokens.access_token, json });

/** Approves a request as the page does, and returns its code. */
export async function codeFor(t: TestApp, tokens: Access, request: Record<string, string>): Promise<string> {
  const verified = await asBrowser(t, tokens, 'verify', request);
  const { scope } = verified.body;
  const { code } = responseIn(await asBrowser(t, tokens, 'approve', { ...request, scope }));
  if (code === undefined) throw new Error('the request was not approved');
  return code;
}

/** Redeems a code. Undefined parameters are left out. */
export const redeem = (
  t: TestApp,
  code: string,
  changed: Record<string, string | undefined> = {},
  ask: Omit<Ask, 'form'> = {},
): Promise<Answer> => {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...changed,
  };
  const sent = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return t.ask('POST', '/token', { ...ask, form: Object.fromEntries(sent) });
};

/** Signs in to an application of a service, and returns its tokens. */
export async function appLogin(
  t: TestApp,
  tokens: Tokens,
  service: { readonly id: string; readonly authorization: string },
  changed: Parameters<typeof requestOf>[1] = {},
): Promise<Tokens> {
  const code = await codeFor(t, tokens, requestOf(service.id, changed));
  const answer = await redeem(t, code, {}, { headers: { Authorization: service.authorization } });
  if (answer.status !== 200) throw new Error(`the code was not redeemed: ${answer.text}`);
  return answer.body;
}
