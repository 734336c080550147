import { endpoints } from '@latchkey/contract/endpoints';
import { codeBlock, type Language, type Tab, tabs } from './markup.ts';
import { example, paragraphs, type Topic } from './topics.ts';

const tokenPath = endpoints.redeemDeviceCode.path;

/** The page about runs: the requests to the token endpoint that make and refresh them. */
export const runsGuide = (server: string): readonly Topic[] => [
  {
    id: 'narrower-token',
    title: 'Make a token that allows less',
    text: `${paragraphs(
      'Exchange an access token or a key for the token of a run. It allows the scope that you ask for and no more than the token it is made from, on the service of `resource` if you name one. It lasts 15 minutes, or from 60 to 3600 seconds as `expires_in` says.',
      'The token cannot be refreshed. It ends with the session or key that it was made from, or when the user or the program revokes it.',
    )}${tokenLink}`,
    examples: tabs('run-request', 'Language of the example', [
      sample('curl', exchange(server, []), 'shell'),
      sample('SDK', sdkExchange(server), 'script'),
      sample('fetch', fetchExchange(server), 'script'),
    ]),
  },
  {
    id: 'act-for-user',
    title: 'Act for a user',
    text: `${paragraphs(
      'A service that has the right `delegate` exchanges the token of a user with its own service key. The run then acts in the name of the service: other services see it as `act` when they introspect its token, and the user sees it in their list of sessions.',
      'Such a run has a refresh token, which only works together with the same service key. Within a run, a service can make another one: at most three deep.',
    )}${tokenLink}`,
    examples: [
      example('As a service', exchange(server, ['-u "$SERVICE_KEY"']), 'shell'),
      example('Refresh', refreshed(server), 'shell'),
    ].join('\n'),
  },
  {
    id: 'no-user',
    title: 'Act for no user',
    text: `${paragraphs(
      'A service that calls another one for itself sends `client_credentials` with its service key. It names the resource that the token is for, which must be within its reach, and scopes that the service of the resource declares. The token names the service in `sub`, belongs to no session, and lasts at most an hour.',
    )}${tokenLink}`,
    examples: example('For itself', forItself(server), 'shell'),
  },
];

const sample = (title: string, code: string, language: Language): Tab => ({
  title,
  value: title,
  html: codeBlock({ code, language, caption: `POST ${tokenPath}` }),
});

const tokenLink = `<p>Fields and errors are those of <a href="/docs/${endpoints.redeemDeviceCode.group}#redeemDeviceCode">the token endpoint</a>.</p>`;

const form = (server: string, options: readonly string[], fields: Readonly<Record<string, string>>): string =>
  [
    `curl -X POST '${server}${tokenPath}'`,
    ...options,
    ...Object.entries(fields).map(([name, value]) => `--data-urlencode ${name}=${value}`),
  ].join(' \\\n  ');

const exchange = (server: string, options: readonly string[]): string =>
  form(server, options, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: '"$ACCESS_TOKEN"',
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'profile',
    expires_in: '900',
  });

const refreshed = (server: string): string =>
  form(server, ['-u "$SERVICE_KEY"'], { grant_type: 'refresh_token', refresh_token: '"$REFRESH_TOKEN"' });

const forItself = (server: string): string =>
  form(server, ['-u "$SERVICE_KEY"'], {
    grant_type: 'client_credentials',
    resource: 'https://projects.example',
    scope: 'projects:read',
  });

const sdkExchange = (server: string): string => `import { createApi } from '@latchkey/client/api';
import { exchangeToken } from '@latchkey/client/token-exchange';
import { openTokenSession } from '@latchkey/client/token-session';

const api = createApi({ server: '${server}' });
const session = openTokenSession({ api, token: accessToken });
const run = await exchangeToken({ api, session, scope: 'profile' });`;

const fetchExchange = (server: string): string => `const response = await fetch('${server}${tokenPath}', {
  method: 'POST',
  body: new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: accessToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'profile',
    expires_in: '900',
  }),
});`;
