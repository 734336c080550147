import { endpointGroups } from '@latchkey/contract/endpoint-groups';
import { endpoints } from '@latchkey/contract/endpoints';
import { type ErrorCode, errorMeanings, errorStatus } from '@latchkey/contract/errors';
import { everything } from '@latchkey/contract/scope-names';
import { ownScopes } from '@latchkey/contract/scopes';
import { escapeHtml } from '../../values/html.ts';
import { referenceAssets } from '../pages.ts';
import type { Reference, ReferenceOperation } from './operation.ts';
import { example, operationSection, paragraphs, type Section, sectionHtml, table } from './operation.ts';

interface Group extends Section {
  readonly sections: readonly Section[];
}

/** The API reference as one page that browsers can search: what holds for all endpoints, then each group. */
export function referencePage(reference: Reference): string {
  const title = `${reference.title} API`;
  const name = escapeHtml(title);
  const groups = [conventions(reference), ...groupsOf(reference)];
  const navigation = groups.map((group) =>
    link(group, `<ul class="plain-list">${group.sections.map((one) => link(one)).join('')}</ul>`),
  );
  const content = groups.flatMap((group) => [
    sectionHtml(group, 2),
    ...group.sections.map((one) => sectionHtml(one, 3)),
  ]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="{{icon}}">
${referenceAssets.styles.map((style) => `<link rel="stylesheet" href="/assets/${style}">`).join('\n')}
<script type="module" src="/assets/${referenceAssets.script}"></script>
</head>
<body class="reference">
<header class="row"><button type="button" popovertarget="contents">Menu</button><a href="/docs">{{logo}} ${name}</a></header>
<nav id="contents" popover aria-label="Reference"><ul class="plain-list">${navigation.join('\n')}</ul></nav>
<main>
${sectionHtml(introduction(reference, title), 1)}
${content.join('\n')}
</main>
</body>
</html>
`;
}

const link = ({ id, title }: Section, below = ''): string =>
  `<li><a href="#${id}">${escapeHtml(title)}</a>${below}</li>`;

const introduction = ({ server, version }: Reference, title: string): Section => ({
  id: 'introduction',
  title,
  text: `<p>Sign-in for a coding-session platform: device codes for programs, emailed links and passkeys for people, and tokens that services can rely on.</p>
<p>Everything here is also an <a href="/openapi.json">OpenAPI document</a>. Standard OAuth clients can configure themselves from the <a href="/.well-known/oauth-authorization-server">authorization server metadata</a>. This is version ${version}.</p>`,
  examples: example('Base URL', server),
});

const conventions = ({ server }: Reference): Group => ({
  id: 'conventions',
  title: 'Conventions',
  text: paragraphs(['What holds for every endpoint.']),
  examples: '',
  sections: topics(server),
});

/** In the order of the contract, then what is not an endpoint. */
const order = Object.keys(endpoints);
const rankOf = ({ id }: ReferenceOperation): number => (id in endpoints ? order.indexOf(id) : order.length);

const groupsOf = (reference: Reference): Group[] =>
  Object.entries(endpointGroups).map(([id, { title, description }]) => {
    const operations = reference.operations
      .filter(({ group }) => group === id)
      .sort((a, b) => rankOf(a) - rankOf(b));
    const routes = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    return {
      id,
      title,
      text: paragraphs([description]),
      examples: example('Endpoints', routes.join('\n')),
      sections: operations.map((operation) => operationSection(operation, reference)),
    };
  });

const topic = (title: string, texts: readonly string[], rows: string[][] = [], examples = ''): Section => ({
  id: title.toLowerCase().replace(' ', '-'),
  title,
  text: paragraphs(texts) + table(rows),
  examples,
});

const topics = (server: string): readonly Section[] => [
  topic('Authentication', [
    'A program sends its access token or key as a bearer token. A web page of this service uses a session cookie, which no script can read. A service sends its service key by HTTP Basic authentication.',
    'A page sends `Latchkey-Page: 1` with the cookie, for browsers that send neither `Sec-Fetch-Site` nor `Origin`: over plain http, and Safari before 16.4. Pages of other origins cannot send it.',
    'Each endpoint lists the credentials that it accepts. Where it requires a recent sign-in, the user must have signed in in a browser at most 15 minutes before, unless the operator chose another time; otherwise the response is `insufficient_user_authentication`.',
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
