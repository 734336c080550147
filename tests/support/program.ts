// A program on this computer that people sign in to: it receives responses, and describes itself as an external client.

interface Received {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly origin: string | null;
  /** The fields of a form. */
  readonly fields: Readonly<Record<string, string>>;
}

export type TestProgram = ReturnType<typeof startProgram>;

/** Starts a program that listens on a loopback address. */
export function startProgram({ address = '127.0.0.1' } = {}) {
  const received: Received[] = [];
  const waiting: ((one: Received) => void)[] = [];
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: address,
    port: 0,
    fetch: async (request): Promise<Response> => {
      const { pathname, search } = new URL(request.url);
      if (pathname === '/client')
        return Response.json({ client_id: clientId, client_name: 'Notebook', redirect_uris: [redirectUri] });
      // Chromium takes an empty 404 for a failed navigation.
      if (pathname !== '/callback') return new Response('Not found', { status: 404 });
      const fields =
        request.method === 'POST' ? Object.fromEntries(new URLSearchParams(await request.text())) : {};
      const one = {
        method: request.method,
        path: pathname,
        search,
        origin: request.headers.get('Origin'),
        fields,
      };
      received.push(one);
      waiting.shift()?.(one);
      return new Response('<!doctype html><title>Received</title><h1>You can close this tab</h1>', {
        headers: { 'Content-Type': 'text/html' },
      });
    },
  });
  const host = `${address.includes(':') ? `[${address}]` : address}:${server.port}`;
  const clientId = `http://${host}/client`;
  const redirectUri = `http://${host}/callback`;
  return {
    /** The client_id whose document lists `redirectUri`. */
    clientId,
    host,
    redirectUri,
    received,
    /** Resolves with the next response that comes to the redirect URI. */
    next: () => new Promise<Received>((resolve) => waiting.push(resolve)),
    stop: () => server.stop(true),
  };
}

/** The path of the page for a request. */
export const authorizePath = (request: Readonly<Record<string, string>>): string =>
  `/authorize?${new URLSearchParams(request)}`;
