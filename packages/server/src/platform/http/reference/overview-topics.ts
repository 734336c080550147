import { type ErrorCode, errorMeanings, errorStatus } from '@latchkey/contract/errors';
import { everything, ownScopes } from '@latchkey/contract/scopes';
import { breakable, example, prose } from './markup.ts';
import { sessionOf } from './sdk-samples.ts';

/** A section that is not about one endpoint. */
export interface Topic {
  readonly id: string;
  readonly title: string;
  /** Paragraphs and tables, as HTML. */
  readonly text: string;
  readonly examples?: string;
}

const paragraphs = (...texts: readonly string[]): string =>
  texts.map((text) => `<p>${prose(text)}</p>`).join('\n');

function table(caption: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = columns.map((column) => `<th scope="col">${column}</th>`).join('');
  const body = rows.map(
    ([first = '', ...rest]) =>
      `<tr><th scope="row">${prose(first)}</th>${rest.map((cell) => `<td>${prose(cell)}</td>`).join('')}</tr>`,
  );
  return `<table><caption class="visually-hidden">${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/** What holds for every endpoint. */
export const overviewTopics = (server: string): readonly Topic[] => [
  {
    id: 'authentication',
    title: 'Authentication',
    text: `${paragraphs(
      'A program sends its access token or key as a bearer token. A web page of this service uses a session cookie, which no script can read. A service sends its service key by HTTP Basic authentication.',
      'A page sends `Latchkey-Page: 1` with the cookie, for browsers that send neither `Sec-Fetch-Site` nor `Origin`: over plain http, and Safari before 16.4. Pages of other origins cannot send it.',
      'Each endpoint lists the credentials that it accepts. Where it requires a recent sign-in, the user must have signed in within the last minutes, in a browser; otherwise the response is `insufficient_user_authentication`.',
      'On any request with the credential of a user, `Latchkey-User` names the user that the request is meant for. If the credential belongs to another user, the request fails and changes nothing.',
    )}${credentialTable}`,
    examples: [
      example(
        'As a user',
        `curl '${server}/api/v1/auth/me' \\\n  -H "Authorization: Bearer $ACCESS_TOKEN"`,
        'shell',
      ),
      example(
        'As a service',
        `curl -X POST '${server}/api/v1/auth/introspect' \\\n  -u "$SERVICE_KEY" \\\n  --data-urlencode "token=$TOKEN"`,
        'shell',
      ),
    ].join('\n'),
  },
  {
    id: 'scopes',
    title: 'Scopes',
    text: `${paragraphs(
      `Every token has a scope: what it allows. \`${everything}\` allows everything the user may do. The scopes below allow less; services declare others, which the server metadata lists.`,
      'A token can also be bound to a resource: then only the service of that resource accepts it.',
    )}${scopeTable}`,
  },
  {
    id: 'requests',
    title: 'Requests and responses',
    text: paragraphs(
      'Bodies are JSON in UTF-8, of at most 64 KiB. OAuth endpoints also take the forms of their RFCs. Unknown members are ignored, and a member that appears twice is an error. Values that are too long are rejected, never truncated.',
      'Timestamps are RFC 3339 in UTC with milliseconds. Durations are whole seconds. IDs are opaque; their prefix names the type.',
      'Responses may gain members, so ignore those that you do not know. Every response has an `X-Request-Id`: yours, if the request had one. Every GET endpoint also answers HEAD.',
    ),
    examples: example(
      'Every response',
      'X-Request-Id: 0b6f2c1e-8d3a-4f57-9a10-5e7c4d2b8f96\nCache-Control: no-store',
      'text',
    ),
  },
  {
    id: 'errors',
    title: 'Errors',
    text: `${paragraphs(
      'Every 4xx and 5xx response has the same members. Switch on `error`, which is stable; `error_description` is for developers. Include the `request_id` in bug reports: it is also in the log.',
    )}${errorTable}`,
    examples: example(
      'An error',
      JSON.stringify(
        {
          error: 'invalid_grant',
          error_description: 'The link has expired or was already used.',
          request_id: '0b6f2c1e-8d3a-4f57-9a10-5e7c4d2b8f96',
        },
        null,
        2,
      ),
      'json',
    ),
  },
  {
    id: 'pagination',
    title: 'Pagination',
    text: paragraphs(
      'Lists come in pages of `limit` entries, 50 unless you ask for 1 to 100. `next_cursor` gets the next page, as `cursor`; it is null on the last one. Entries that are added meanwhile neither repeat nor hide others.',
    ),
    examples: example(
      'The next page',
      `curl '${server}/api/v1/auth/sessions?limit=20&cursor='"$NEXT_CURSOR" \\\n  -H "Authorization: Bearer $ACCESS_TOKEN"`,
      'shell',
    ),
  },
  {
    id: 'idempotency',
    title: 'Repeating requests',
    text: paragraphs(
      'Refresh tokens and device codes work once. If the response is lost, repeat the request with the same `Idempotency-Key` to get the same tokens: a refresh within 600 seconds, a device code within 60.',
      'Choose a random key of 1 to 128 printable characters for each token, and store both before you send them. Without a key, a lost response means that the user has to sign in again; a refresh sent as a form can be repeated for 10 seconds by the same client, from the same network and program. The SDK sends and stores keys for you.',
    ),
    examples: example(
      'A refresh that can be repeated',
      `curl -X POST '${server}/api/v1/auth/refresh' \\\n  -H 'Idempotency-Key: 7f0c2b9e-41d8-4a67-b3f5-0e92c6d81a54' \\\n  -H 'Content-Type: application/json' \\\n  -d "{\\"refresh_token\\": \\"$REFRESH_TOKEN\\"}"`,
      'shell',
    ),
  },
  {
    id: 'rate-limits',
    title: 'Rate limits',
    text: paragraphs(
      'A request beyond a limit gets 429 `rate_limited`. `Retry-After` says how many seconds to wait, and `RateLimit` what remains of each limit (`r`) and when it resets (`t`). `RateLimit-Policy` has the limits themselves.',
      'Responses that succeed carry `RateLimit` where it reveals nothing about others. On 503 `temporarily_unavailable`, wait for `Retry-After` too.',
    ),
    examples: example(
      'A limit that was reached',
      'HTTP/1.1 429 Too Many Requests\nRetry-After: 42\nRateLimit: "refreshes";r=0;t=42\nRateLimit-Policy: "refreshes";q=600;w=60',
      'text',
    ),
  },
  {
    id: 'sdk',
    title: 'SDK',
    text: paragraphs(
      'The SDK for TypeScript runs on Node.js, on Bun, in browsers and in workers. `api.call` sends one request, typed by this API. `session.call` does the same with the access token of a stored login, which it keeps fresh for all processes that share it.',
      'In the examples, `accessToken` and `serviceKey` stand for yours. Every error is a `LatchkeyError`, whose `code` is the error code of the response.',
    ),
    examples: example(
      'A session that stays signed in',
      `${sessionOf(server)}\n\nconst { name } = await session.call('getProfile');`,
      'script',
    ),
  },
];

const credentialTable = table(
  'Credentials',
  ['Credential', 'Sent as', 'From'],
  [
    ['Access token', '`Authorization: Bearer lk_at_…`', 'A sign-in or a refresh'],
    ['Key', '`Authorization: Bearer lk_ak_…`', 'The account page, or the endpoint that creates keys'],
    ['Session cookie', '`Cookie`, from a page of this service', 'A sign-in with `session=cookie`'],
    ['Service key', '`Authorization: Basic …`', '`latchkey-server services create`'],
  ],
);

const scopeTable = table(
  'Scopes',
  ['Scope', 'Allows'],
  Object.entries(ownScopes).map(([name, sentence]) => [`\`${name}\``, sentence]),
);

const errorTable = `<table class="errors"><caption class="visually-hidden">Error codes</caption><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>${(
  Object.keys(errorStatus) as ErrorCode[]
)
  .map(
    (code) =>
      `<tr id="error-${code}"><td>${errorStatus[code]}</td><th scope="row"><code>${breakable(code)}</code></th><td>${prose(errorMeanings[code])}</td></tr>`,
  )
  .join('')}</tbody></table>`;
