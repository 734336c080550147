// Receives the answer to an authorization request on this machine, for programs without an address of their own.

import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';

/** The parameters of the answer, and the browser that waits for a page. */
export interface Arrival {
  readonly parameters: URLSearchParams;
  /** Shows the browser how the sign-in ended, once. */
  respond(outcome: LandingOutcome): Promise<void>;
}

export interface LoopbackListener {
  readonly redirectUri: string;
  /** The first answer that is expected. Any other is refused, and changes nothing. */
  readonly arrival: Promise<Arrival>;
  /** Stops listening; a browser that waits for its page gets it first. */
  close(): void;
}

const host = '127.0.0.1';
const pathBytes = 16;
/** Several times the longest request. */
const maxBodyBytes = 16 * 1024;
/** For a request to arrive completely. @internal */
export const requestTimeoutMs = 10_000;

/**
 * Listens on an unguessable path.
 * @param port 0 for any that is free
 * @param isExpected whether an answer is the one to this request
 * @throws the system's error
 * @see RFC 8252 section 7.3
 */
export async function listenOnLoopback(
  port: number,
  isExpected: (parameters: URLSearchParams) => boolean,
): Promise<LoopbackListener> {
  const path = `/${randomBytes(pathBytes).toString('base64url')}`;
  const { promise: arrival, resolve: arrive } = Promise.withResolvers<Arrival>();
  let isTaken = false;
  const server = createServer((request, response) => {
    void (async () => {
      const parameters = await readAnswer(request, `${host}:${boundPort}`, path);
      if (typeof parameters === 'number') return refuse(response, parameters);
      if (isTaken || !isExpected(parameters)) return refuse(response, 400);
      isTaken = true;
      arrive({
        parameters,
        respond: (outcome) => sendPage(response, outcome, request.headers['accept-language']),
      });
    })().catch(() => response.destroy());
  });
  // Beyond a count, Node reads a request without the rest of its headers, such as a second Host.
  server.maxHeadersCount = 0;
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  const boundPort = await startListening(server, { host, port, exclusive: true });
  return {
    redirectUri: `http://${host}:${boundPort}${path}`,
    arrival,
    close: () => {
      isTaken = true;
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Returns the port, which a socket in the file system does not have. @throws the system's error @internal */
export const startListening = (server: Server, options: ListenOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => resolve((server.address() as AddressInfo).port));
  });

/** The parameters of a form that was posted to the right place, or the status of a refusal. */
async function readAnswer(request: IncomingMessage, authority: string, path: string) {
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length !== 1 || request.headers.host !== authority) return 400;
  if (request.url !== path) return 404;
  if (request.method !== 'POST') return 405;
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return 415;
  const body = await readBody(request);
  if (body === undefined) return 413;
  const parameters = new URLSearchParams(body);
  const names = [...parameters.keys()];
  return new Set(names).size === names.length ? parameters : 400;
}

/** Undefined if it is too long. @internal */
export async function readBody(
  message: IncomingMessage,
  maxBytes = maxBodyBytes,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const commonHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
};

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, {
    ...commonHeaders,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    ...(status === 405 ? { Allow: 'POST' } : {}),
  });
  response.end('This is not the answer that the program is waiting for.\n');
}

function sendPage(response: ServerResponse, outcome: LandingOutcome, acceptLanguage: string | undefined) {
  return new Promise<void>((resolve) => {
    // Whether the browser still listens does not matter.
    response.once('close', resolve);
    response.writeHead(200, {
      ...commonHeaders,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': landingPolicy,
    });
    response.end(landingPage(outcome, acceptLanguage), () => resolve());
  });
}

// The page that the browser shows at the end of a sign-in that a program on this machine started.

type LandingOutcome = 'signedIn' | 'denied' | 'failed';

const translations = {
  en: {
    signedIn: "You're signed in",
    denied: 'You denied the sign-in',
    failed: 'The sign-in failed. The terminal says why',
    close: 'You can close this tab.',
  },
  de: {
    signedIn: 'Sie sind angemeldet',
    denied: 'Sie haben die Anmeldung abgelehnt',
    failed: 'Die Anmeldung ist fehlgeschlagen. Der Grund steht im Terminal',
    close: 'Sie können diesen Tab schließen.',
  },
  fr: {
    signedIn: 'Vous êtes connecté',
    denied: 'Vous avez refusé la connexion',
    failed: 'La connexion a échoué. Le terminal indique pourquoi',
    close: 'Vous pouvez fermer cet onglet.',
  },
  es: {
    signedIn: 'Has iniciado sesión',
    denied: 'Has rechazado el inicio de sesión',
    failed: 'No se ha podido iniciar sesión. El terminal indica el motivo',
    close: 'Puedes cerrar esta pestaña.',
  },
  pt: {
    signedIn: 'Você está conectado',
    denied: 'Você recusou o acesso',
    failed: 'Não foi possível entrar. O terminal mostra o motivo',
    close: 'Você pode fechar esta aba.',
  },
  ja: {
    signedIn: 'ログインしました',
    denied: 'ログインを拒否しました',
    failed: 'ログインできませんでした。理由はターミナルに表示されています',
    close: 'このタブは閉じてかまいません。',
  },
} satisfies Record<string, Record<LandingOutcome | 'close', string>>;

const style =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}body{display:grid;place-content:center;min-height:90vh;margin:0;padding:1rem;text-align:center}h1{font-size:1.5rem;margin:0}';

/** Allows nothing but the style of the page. */
const landingPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page in the language that the browser prefers. It contains nothing from the request. */
function landingPage(outcome: LandingOutcome, acceptLanguage = ''): string {
  const language = preferredLanguage(acceptLanguage);
  const texts = translations[language];
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${texts[outcome]}</title>
<style>${style}</style>
<body>
<main><h1>${texts[outcome]}</h1><p>${texts.close}</p></main>
</body>
</html>
`;
}

/** @see RFC 9110 section 12.5.4 */
function preferredLanguage(acceptLanguage: string): keyof typeof translations {
  const ranked = acceptLanguage
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
      const quality = parameters.find((text) => /^q=/i.test(text))?.slice(2);
      const language = range.split('-')[0]?.toLowerCase() as keyof typeof translations;
      return { language, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ language, quality }) => Object.hasOwn(translations, language) && quality > 0)
    .sort((one, other) => other.quality - one.quality);
  return ranked[0]?.language ?? 'en';
}
