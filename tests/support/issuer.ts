// An OpenID Connect issuer on this machine that speaks the claims of GitHub Actions, and whatever a test makes it say.

import { CompactSign, exportJWK, generateKeyPair, type JWK } from 'jose';
import { closeAtTestEnd } from './cleanup.ts';

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Claims. Undefined ones are left out. */
export type TestClaims = Readonly<Record<string, unknown>>;

export type TestIssuer = Awaited<ReturnType<typeof startIssuer>>;

let keys = 0;

export async function newSigningKey(alg = 'RS256', kid = `key-${keys++}`): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** @param clock of its tokens; that of a service in this process is virtual */
export async function startIssuer(clock: () => number = Date.now) {
  const requestToken = crypto.randomUUID();
  let claimsOfJob: (audience: string) => TestClaims = githubClaims;
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request): Promise<Response> => {
      const { pathname, searchParams } = new URL(request.url);
      issuer.requests.push(pathname);
      const instead = await issuer.answer?.(pathname);
      if (instead) return instead;
      if (pathname === '/.well-known/openid-configuration')
        return Response.json({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
      if (pathname === '/jwks') return Response.json({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) });
      if (pathname === '/job' && request.headers.get('Authorization') === `Bearer ${requestToken}`)
        return Response.json({ value: await issuer.sign(claimsOfJob(searchParams.get('audience') ?? '')) });
      return new Response(null, { status: 404 });
    },
  });
  const issuer = {
    url: `http://127.0.0.1:${server.port}`,
    /** Paths asked for so far. */
    requests: [] as string[],
    /** The keys that it publishes. The first one signs. */
    keys: [await newSigningKey()],
    /** Answers a request instead of the issuer. */
    answer: undefined as ((path: string) => Response | Promise<Response> | undefined) | undefined,
    addKey: async (alg?: string, kid?: string): Promise<SigningKey> => {
      const key = await newSigningKey(alg, kid);
      issuer.keys.unshift(key);
      return key;
    },
    /** A token with these claims, besides `iss`, `iat` and `exp`, for which it is `now` (milliseconds since 1970). */
    sign: (
      claims: TestClaims,
      how: { now?: number; key?: SigningKey; header?: Record<string, unknown> } = {},
    ): Promise<string> => {
      const { now = clock(), key = issuer.keys[0]!, header = {} } = how;
      const iat = Math.floor(now / 1000);
      const payload = JSON.stringify({ iss: issuer.url, iat, exp: iat + 300, ...claims });
      return new CompactSign(new TextEncoder().encode(payload))
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })
        .sign(key.privateKey);
    },
    /** What GitHub sets for a job whose tokens have these claims. */
    job: (claims: (audience: string) => TestClaims = githubClaims): Record<string, string> => {
      claimsOfJob = claims;
      return {
        ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer.url}/job?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
      };
    },
    stop: () => server.stop(true),
  };
  closeAtTestEnd(issuer.stop);
  return issuer;
}

/**
 * The claims of a job on GitHub for this audience. Repositories made since July 2026 have the ids in `sub`, so that a name that was
 * given up does not match.
 */
export const githubClaims = (aud: string, changed: TestClaims = {}, newSubject = true): TestClaims => ({
  sub: newSubject
    ? 'repo:ada@1099001/engine@784120233:ref:refs/heads/main'
    : 'repo:ada/engine:ref:refs/heads/main',
  aud,
  ref: 'refs/heads/main',
  repository: 'ada/engine',
  repository_id: '784120233',
  repository_owner_id: '1099001',
  repository_visibility: 'public',
  workflow_ref: 'ada/engine/.github/workflows/deploy.yml@refs/heads/main',
  job_workflow_ref: 'ada/engine/.github/workflows/deploy.yml@refs/heads/main',
  event_name: 'push',
  runner_environment: 'github-hosted',
  jti: crypto.randomUUID(),
  ...changed,
});
