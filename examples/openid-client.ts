import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Request } from 'express';
import * as openid from 'openid-client';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const home = `http://127.0.0.1:${PORT}/`;
const [clientId = '', secret] = SERVICE_KEY.split(':');
// Without allowInsecureRequests the server must have https.
const execute = [openid.enableNonRepudiationChecks, openid.allowInsecureRequests];
const config = await openid.discovery(new URL(LATCHKEY_SERVER), clientId, secret, undefined, { execute });

type Tokens = Awaited<ReturnType<typeof openid.authorizationCodeGrant>>;
const logins = new Map<string, openid.AuthorizationCodeGrantChecks & { tokens?: Tokens }>();
const cookieOf = ({ headers }: Request) => /login=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? '';
const loginOf = (request: Request) => logins.get(cookieOf(request)) ?? {};

const app = express();
app.get('/login', async (_, response) => {
  const [id, verifier] = [randomUUID(), openid.randomPKCECodeVerifier()];
  const [state, nonce] = [openid.randomState(), openid.randomNonce()];
  logins.set(id, { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier });
  const url = openid.buildAuthorizationUrl(config, {
    ...{ redirect_uri: `${home}callback`, scope: 'openid email', state, nonce },
    ...{ code_challenge_method: 'S256', code_challenge: await openid.calculatePKCECodeChallenge(verifier) },
  });
  response.cookie('login', id, { httpOnly: true, sameSite: 'lax' }).redirect(url.href);
});
app.get('/callback', async (request, response) => {
  const login = loginOf(request);
  login.tokens = await openid.authorizationCodeGrant(config, new URL(request.originalUrl, home), login);
  response.redirect('/');
});
app.get('/', async (request, response) => {
  const { tokens } = loginOf(request);
  if (!tokens) return response.redirect('/login');
  response.json(await openid.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? ''));
});
app.get('/logout', (request, response) => {
  const { tokens } = loginOf(request);
  logins.delete(cookieOf(request));
  const end = { id_token_hint: tokens?.id_token ?? '', post_logout_redirect_uri: home };
  response.redirect(openid.buildEndSessionUrl(config, end).href);
});
const onError: ErrorRequestHandler = (error, _request, response, _next) => {
  // The access token expired, or its session ended.
  if (error instanceof openid.WWWAuthenticateChallengeError) response.redirect('/login');
  else response.status(403).send(error.error ?? error.code);
};
app.use(onError);
app.listen(Number(PORT));
