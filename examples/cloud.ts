// Stands for a cloud that trusts Latchkey as an OpenID Connect issuer.

import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { LATCHKEY_SERVER: issuer = 'http://localhost:8787', PORT = '3000' } = process.env;
const discovery = await fetch(`${issuer}/.well-known/openid-configuration`);
const { jwks_uri } = (await discovery.json()) as { jwks_uri: string };
const keys = createRemoteJWKSet(new URL(jwks_uri));

createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  const verified = await jwtVerify(token, keys, {
    issuer,
    audience: 'https://storage.example',
    algorithms: ['RS256'],
  }).catch(() => undefined);
  const subject = verified?.payload.sub;
  // Applications get identity tokens of users, whose subject is no run.
  if (!subject?.startsWith('run:')) response.writeHead(401).end();
  else response.end(`${JSON.stringify({ objects: ['plan.txt'], subject })}\n`);
}).listen(Number(PORT), '127.0.0.1');
