import type { federationGrantType as contractGrantType, IssuedToken } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { hasCode, LatchkeyError } from './errors.ts';
import { isLoopbackHost } from './loopback.ts';
import { EndlessFileError, readSmallFile } from './small-file.ts';
import { requestRun, type WantedToken } from './token-exchange.ts';
import { boundedText, parseJson, within } from './transport.ts';

const grantType: typeof contractGrantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export interface FederationOptions extends WantedToken {
  readonly api: Api;
  /** The key that trusts the issuer of the job's token. */
  readonly keyId: string;
}

/**
 * A token for a job that has no secret, only a token of its CI system or cluster: from the file in `LATCHKEY_ID_TOKEN_FILE`
 * (Kubernetes), in `LATCHKEY_ID_TOKEN` (GitLab), or from GitHub Actions. It cannot be refreshed; ask again instead.
 * @throws {TypeError} if the job has no such token
 * @throws {LatchkeyError} `invalid_grant` if the key does not trust it, or GitHub issues none; `invalid_scope`, `invalid_target`, `conflict`
 * @see RFC 7523
 * @example
 * const { access_token } = await federatedToken({ api, keyId: 'key_…', scope: 'projects:read' });
 */
export async function federatedToken({ api, keyId, ...wanted }: FederationOptions): Promise<IssuedToken> {
  const assertion = await findAssertion(api, wanted.signal);
  return requestRun(api, { grant_type: grantType, assertion, key_id: keyId }, wanted);
}

/** @throws {TypeError} */
async function findAssertion(api: Api, signal: AbortSignal | undefined): Promise<string> {
  // Secrets that come from a file often end in a line break.
  const [file, token, url, requestToken] = [
    'LATCHKEY_ID_TOKEN_FILE',
    'LATCHKEY_ID_TOKEN',
    'ACTIONS_ID_TOKEN_REQUEST_URL',
    'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  ].map((name) => process.env[name]?.trim());
  if (file) return readAssertion(file, signal);
  if (token) return token;
  if (url && requestToken) return askGitHub(api, url, requestToken, signal);
  throw new TypeError(
    'This job has no token: LATCHKEY_ID_TOKEN_FILE, LATCHKEY_ID_TOKEN and ACTIONS_ID_TOKEN_REQUEST_URL with its token are not set. On GitHub, give the job the permission `id-token: write`.',
  );
}

async function readAssertion(file: string, signal: AbortSignal | undefined): Promise<string> {
  let reason = 'cannot be read, or is empty';
  const token = await readSmallFile(file, signal).catch((error: unknown) => {
    if (hasCode(error, 'aborted')) throw error;
    if (error instanceof EndlessFileError) reason = error.message;
  });
  if (token?.trim()) return token.trim();
  throw new TypeError(`The file in LATCHKEY_ID_TOKEN_FILE ${reason}.`);
}

/** The token that GitHub issues to the job, for this server only. */
async function askGitHub(
  { server, fetch, timeoutMs }: Api,
  address: string,
  requestToken: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const url = URL.parse(address);
  if (!url || (url.protocol !== 'https:' && !isLoopbackHost(url.hostname)))
    throw new TypeError('ACTIONS_ID_TOKEN_REQUEST_URL is not an https address.');
  url.searchParams.set('audience', server);
  const headers = { Authorization: `Bearer ${requestToken}`, Accept: 'application/json' };
  const answer = await within(timeoutMs, signal, url.origin, async (requestSignal) => {
    const response = await fetch(url.href, { headers, redirect: 'error', signal: requestSignal });
    const { ok, status } = response;
    const body = ok ? parseJson(await boundedText(response, url.origin)) : undefined;
    // A page is that of a proxy.
    const isPage = ok && body === undefined;
    const isLimited = status === 408 || status === 429 || response.headers.has('Retry-After');
    const mayPass = isPage || isLimited || status >= 500;
    return { token: (Object(body) as { value?: unknown }).value, mayPass };
  }).catch((error: unknown) => {
    if (hasCode(error, 'aborted')) throw error;
    return { token: undefined, mayPass: true };
  });
  if (typeof answer.token === 'string') return answer.token;
  throw answer.mayPass
    ? new LatchkeyError('unreachable', 'GitHub did not issue a token to this job.')
    : new LatchkeyError('invalid_grant', 'GitHub refused to issue a token to this job.');
}
