// An application with passport-openidconnect. The strategy has no PKCE, which Latchkey asks of every client: it is added by the
// strategy's own hook for parameters, and to the token request.

import { createHash, randomBytes } from 'node:crypto';
import express from 'express';
import passport from 'passport';
import OpenIDConnectStrategy from 'passport-openidconnect';

const { LATCHKEY_SERVER, SERVICE_KEY, PORT } = process.env;
const [clientID, clientSecret] = SERVICE_KEY.split(':');
const metadata = await (await fetch(`${LATCHKEY_SERVER}/.well-known/openid-configuration`)).json();
const options = {
  issuer: metadata.issuer,
  authorizationURL: metadata.authorization_endpoint,
  tokenURL: metadata.token_endpoint,
  userInfoURL: metadata.userinfo_endpoint,
  clientID,
  clientSecret,
  callbackURL: `http://127.0.0.1:${PORT}/callback`,
  scope: ['email'],
  nonce: true,
};

/** The strategy for one login, with the verifier of its session. */
const strategyFor = (session) => {
  const verify = (_issuer, _profile, _context, _idToken, access, _refresh, done) => done(null, { access });
  const strategy = new OpenIDConnectStrategy(options, verify);
  strategy.authorizationParams = () => {
    session.verifier = randomBytes(32).toString('base64url');
    const code_challenge = createHash('sha256').update(session.verifier).digest('base64url');
    return { code_challenge, code_challenge_method: 'S256' };
  };
  const oauth2 = strategy._oauth2;
  const redeem = oauth2.getOAuthAccessToken.bind(oauth2);
  oauth2.getOAuthAccessToken = (code, params, done) =>
    redeem(code, { ...params, code_verifier: session.verifier }, done);
  return strategy;
};

const sessions = new Map();
const app = express();
app.use((request, response, next) => {
  const id = /session=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? randomBytes(16).toString('hex');
  if (!sessions.has(id)) sessions.set(id, {});
  request.session = sessions.get(id);
  response.cookie('session', id, { httpOnly: true, sameSite: 'lax' });
  next();
});
const authenticate = (request, response, next) =>
  passport.authenticate(strategyFor(request.session), { session: false })(request, response, next);
app.get('/login', authenticate);
app.get('/callback', authenticate, (request, response) => {
  request.session.user = request.user;
  response.redirect('/');
});
app.get('/', async (request, response) => {
  const headers = { Authorization: `Bearer ${request.session.user?.access}` };
  const answer = await fetch(metadata.userinfo_endpoint, { headers });
  response.status(answer.status).json(await answer.json());
});
app.listen(Number(PORT));
