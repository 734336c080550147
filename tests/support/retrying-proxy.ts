// An HTTP proxy in front of several nodes that does what those in production do: a request that may be repeated is sent to
// the next node when one gives no answer or says 503.

export interface RetryingProxy {
  readonly url: string;
  /** How many requests were sent once more. */
  retries(): number;
  stop(): Promise<void>;
}

const idempotentMethods = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);
/** With the body, they are decoded by `fetch` or belong to one connection. */
const hopHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'content-encoding', 'content-length'];

/** `nodes` are the addresses at the moment: tests change them while requests come. */
export function startRetryingProxy(nodes: readonly string[]): RetryingProxy {
  let next = 0;
  let retries = 0;

  const forward = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const { method } = request;
    const body = request.body ? await request.arrayBuffer() : null;
    const headers = new Headers(request.headers);
    for (const name of ['host', 'connection']) headers.delete(name);
    const mayRepeat = idempotentMethods.has(method) || headers.has('Idempotency-Key');
    const first = next++;
    for (let tried = 1; ; tried++) {
      const node = nodes[(first + tried) % nodes.length]!;
      const answer = await fetch(node + pathname + search, {
        method,
        headers,
        body,
        redirect: 'manual',
      }).catch(() => undefined);
      const isFinal = !mayRepeat || tried >= nodes.length;
      if (answer && (answer.status !== 503 || isFinal)) return withoutHopHeaders(answer);
      if (isFinal) return new Response('no node answers', { status: 502 });
      retries++;
    }
  };

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 60, fetch: forward });
  return {
    url: `http://127.0.0.1:${server.port}`,
    retries: () => retries,
    stop: () => server.stop(true),
  };
}

async function withoutHopHeaders(answer: Response): Promise<Response> {
  const headers = new Headers(answer.headers);
  for (const name of hopHeaders) headers.delete(name);
  const body = await answer.arrayBuffer();
  return new Response(answer.status === 204 ? null : body, { status: answer.status, headers });
}
