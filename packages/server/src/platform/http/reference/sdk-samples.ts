import { endpoints } from '@latchkey/contract/endpoints';
import type { ExampleRequest } from './examples.ts';

type OperationId = keyof typeof endpoints;

const apiOf = (server: string): string => `import { createApi } from '@latchkey/client/api';

const api = createApi({ server: '${server}' });`;

/** A stored login that this process or another one has put there. */
export const sessionOf = (server: string): string => `import { createApi } from '@latchkey/client/api';
import { credentialStore } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { openSession } from '@latchkey/client/session';

const api = createApi({ server: '${server}' });
const store = credentialStore(fileStorage('credentials.json'), api.server);
const session = openSession({ api, store });`;

const verifierOf = (server: string, further = ''): string =>
  `import { createVerifier } from '@latchkey/client/verify';

const verifier = createVerifier({ server: '${server}', serviceKey${further} });`;

const deviceLogin = (server: string): string => `import { createApi } from '@latchkey/client/api';
import { startDeviceLogin } from '@latchkey/client/device-login';

const api = createApi({ server: '${server}' });
const login = await startDeviceLogin(api, {
  clientName: 'Example CLI',
  deviceName: 'den',
});
console.log(\`Open \${login.verificationUri} and enter \${login.userCode}\`);

// Polls until the user has decided.
const tokens = await login.tokens();`;

const addingPasskey = (server: string): string => `import { createApi } from '@latchkey/client/api';
import { addPasskey } from '@latchkey/client/passkeys/add';

// In a page: requests the options, asks the browser, registers.
const api = createApi({ server: '${server}' });
const passkey = await addPasskey(api);`;

const passkeySignIn = (server: string): string => `import { createApi } from '@latchkey/client/api';
import { askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';

// In a page: requests the options, asks the browser, signs in.
const api = createApi({ server: '${server}' });
const assertion = await askForPasskey(api);
const answer = await redeemPasskey(api, assertion, { session: 'cookie' });`;

const signingOut = (server: string): string => `${sessionOf(server)}

await session.logout();
// Or every session of the user:
await session.logout({ everywhere: true });`;

/** What the SDK does for several requests in a row, or besides the request. */
const flows: Partial<Record<OperationId, (server: string) => string>> = {
  startDeviceAuthorization: deviceLogin,
  issueToken: deviceLogin,
  startPasskeyRegistration: addingPasskey,
  registerPasskey: addingPasskey,
  startPasskeyLogin: passkeySignIn,
  loginWithPasskey: passkeySignIn,
  refresh: (server) => `${sessionOf(server)}

// Refreshes when it is due, once for all processes that share the store.
const token = await session.accessToken();`,
  revoke: signingOut,
  logout: signingOut,
  introspect: (server) => `${verifierOf(server)}
const token = await verifier.verify(accessToken);`,
  readFeed: (server) => `${verifierOf(server, ', feed: true')}

// Reads the feed to know when what it has verified ends.
const token = await verifier.verify(accessToken);`,
};

/** The example request with the SDK; undefined if the SDK has no function for it. */
export function sdkSample(id: string, request: ExampleRequest): string | undefined {
  if (!isEndpoint(id)) return undefined;
  const flow = flows[id];
  return flow ? flow(request.server) : apiCall(id, request);
}

const isEndpoint = (id: string): id is OperationId => id in endpoints;

function apiCall(id: OperationId, { server, params, credential, body }: ExampleRequest): string {
  const input = [
    ...(credential === 'access-token' ? ['accessToken'] : []),
    ...(Object.keys(params).length > 0 ? [`params: ${literal(params, '  ')}`] : []),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is code
    ...(credential === 'service-key' ? ['headers: { Authorization: `Basic ${btoa(serviceKey)}` }'] : []),
    ...(body ? [`body: ${literal(body, '  ')}`] : []),
  ];
  return `${apiOf(server)}\n\nconst answer = await api.call('${id}'${inputText(input)});`;
}

function inputText(members: readonly string[]): string {
  if (members.length === 0) return '';
  const [only = ''] = members;
  return members.length === 1 && !only.includes('\n') && only.length < 40
    ? `, { ${only} }`
    : `, {\n${members.map((member) => `  ${member},\n`).join('')}}`;
}

const maxLineLength = 60;

/** A value as JavaScript, as one would write it: unquoted names, single quotes, short objects on one line. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, member]) => `${propertyName(name)}: ${literal(member, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return open + close;
  const line = isList ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
  if (line.length <= maxLineLength && !line.includes('\n')) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const propertyName = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name));
