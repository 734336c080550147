import { type ErrorCode, errorMeanings, errorStatus } from '@latchkey/contract/errors';
import { everything, ownScopes } from '@latchkey/contract/scopes';
import { example, paragraphs, type Section, table } from './markup.ts';

const topic = (title: string, texts: readonly string[], rows: string[][] = [], examples = ''): Section => ({
  id: title.toLowerCase().replace(' ', '-'),
  title,
  text: paragraphs(texts) + table(rows),
  examples,
});

/** What holds for every endpoint. */
export const topics = (server: string): readonly Section[] => [
  topic('Authentication', [
    'A program sends its access token or key as a bearer token. A web page of this service uses a session cookie, which no script can read. A service sends its service key by HTTP Basic authentication.',
    'A page sends `Latchkey-Page: 1` with the cookie, for browsers that send neither `Sec-Fetch-Site` nor `Origin`: over plain http, and Safari before 16.4. Pages of other origins cannot send it.',
    'Each endpoint lists the credentials that it accepts. Where it requires a recent sign-in, the user must have signed in within the last minutes, in a browser; otherwise the response is `insufficient_user_authentication`.',
    'If the account has a passkey, approving a device or an application and creating a key need its confirmation in place of a recent sign-in: get the options, and send the response as `passkey`. Without it, the response has `passkey_required`.',
    'On any request with the credential of a user, `Latchkey-User` names the user that the request is meant for. If the credential belongs to another user, the request fails and changes nothing.',
  ]),
  topic(
    'Scopes',
    [
      `Every token has a scope: what it allows. \`${everything}\` allows everything the user may do. The scopes below allow less; services declare others, which the server metadata lists.`,
      'A token can also be bound to a resource: then only the service of that resource accepts it.',
    ],
    Object.entries(ownScopes).map(([name, sentence]) => [`\`${name}\``, sentence]),
  ),
  topic('Requests', [
    'Bodies are JSON in UTF-8, of at most 64 KiB. OAuth endpoints also take the forms of their RFCs. Unknown members are ignored, and a member that appears twice is an error. Values that are too long are rejected, never truncated.',
    'Timestamps are RFC 3339 in UTC with milliseconds. Durations are whole seconds. IDs are opaque; their prefix names the type.',
    'Responses may gain members, so ignore those that you do not know. Every response has an `X-Request-Id`: yours, if the request had one. Every GET endpoint also answers HEAD.',
  ]),
  topic(
    'Errors',
    [
      'Every 4xx and 5xx response has the same members. Switch on `error`, which is stable; `error_description` is for developers. Include the `request_id` in bug reports: it is also in the log.',
    ],
    Object.entries(errorStatus).map(([code, status]) => [
      `${status}`,
      `\`${code}\``,
      errorMeanings[code as ErrorCode],
    ]),
  ),
  topic('Pagination', [
    'Lists come in pages of `limit` entries, 50 unless you ask for 1 to 100. `next_cursor` gets the next page, as `cursor`; it is null on the last one. Entries that are added meanwhile neither repeat nor hide others.',
  ]),
  topic(
    'Idempotency',
    [
      'Refresh tokens and device codes work once. If the response is lost, repeat the request with the same `Idempotency-Key` to get the same tokens: a refresh within 600 seconds, a device code within 60.',
      'Choose a random key of 1 to 128 printable characters for each token, and store both before you send them. Without a key, a lost response means that the user has to sign in again; a refresh sent as a form can be repeated for 10 seconds by the same client, from the same network and program. The SDK sends and stores keys for you.',
    ],
    [],
    example(
      'A refresh that can be repeated',
      `curl -X POST '${server}/api/v1/auth/refresh' \\
  -H 'Idempotency-Key: 7f0c2b9e-41d8-4a67-b3f5-0e92c6d81a54' \\
  -H 'Content-Type: application/json' \\
  -d "{\\"refresh_token\\": \\"$REFRESH_TOKEN\\"}"`,
    ),
  ),
  topic('Rate limits', [
    'A request beyond a limit gets 429 `rate_limited`. `Retry-After` says how many seconds to wait, and `RateLimit` what remains of each limit (`r`) and when it resets (`t`). `RateLimit-Policy` has the limits themselves.',
    'Responses that succeed carry `RateLimit` where it reveals nothing about others. On 503 `temporarily_unavailable`, wait for `Retry-After` too.',
  ]),
];
