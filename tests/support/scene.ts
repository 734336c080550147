import { listener } from './cli.ts';
import { startIssuer } from './issuer.ts';
import { reservePort } from './reserved-port.ts';
import { startService } from './service.ts';

/** The servers that transcripts refer to by name: `$SERVER` in a command, `SERVER` in its output. */
export type Scene = Awaited<ReturnType<typeof setScene>>;

const html = '<!doctype html><title>Welcome</title>';

/** Starts all servers. */
export async function setScene() {
  const issuer = await startIssuer();
  const service = await startService({
    env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_TRUSTED_ISSUERS: issuer.url },
  });
  const brief = await startService({ env: { LATCHKEY_REFRESH_IDLE_TTL: '1' } });
  const foreign = {
    WEBSITE: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
    STATIC: ({ method }: Request) =>
      new Response(html, { status: method === 'GET' ? 404 : 501, headers: { 'Content-Type': 'text/html' } }),
    OTHER_API: () => Response.json({ message: 'Not Found' }, { status: 404 }),
    REDIRECTING: () => Response.redirect('https://login.example/welcome', 302),
    OVERLOADED: () => new Response(html, { status: 503, headers: { 'Retry-After': '7' } }),
    ECHO: ({ method, url, headers }: Request) =>
      new Response(`${method} ${new URL(url).pathname} ${headers.get('Authorization')}\n`),
    /** Says everything at great length, and lists on two pages. */
    LENGTHY: ({ url }: Request) => {
      const text = 'x'.repeat(100_000);
      const headers = { 'X-Request-Id': 'x' };
      const me = { id: 'usr_1', name: text, email: text, created_at: text };
      const session = { ...me, kind: 'device', method: text, last_used_at: text };
      if (url.endsWith('/me')) return Response.json(me, { headers });
      if (url.includes('kind=run')) return Response.json({ sessions: [], next_cursor: null }, { headers });
      if (url.includes('/sessions'))
        return Response.json(
          { sessions: [session], next_cursor: url.includes('more') ? null : 'more' },
          { headers },
        );
      const refusal = { error: 'invalid_request', error_description: text, request_id: text };
      return Response.json(refusal, { status: 400, headers });
    },
    /** Says about everything that it is a Latchkey server. */
    ANYTHING: () => Response.json({}, { headers: { 'X-Request-Id': 'r' } }),
    /** Moves the cursor, colours the terminal and reverses a line; its code is the name of a property of every object. */
    HOSTILE: () =>
      Response.json(
        { error: 'constructor', error_description: 'BC\u001b[2J\u202eDF\u009b31m', request_id: 'x' },
        { status: 400, headers: { 'X-Request-Id': 'x' } },
      ),
  };
  const listeners = Object.entries(foreign).map(([name, respond]) => ({ name, ...listener(respond) }));
  return {
    service,
    issuer,
    /** `BRIEF` ends idle sessions at once, `DOWN` refuses connections; those of `foreign` are not Latchkey. */
    addresses: {
      SERVER: service.url,
      BRIEF: brief.url,
      ISSUER: issuer.url,
      DOWN: `http://127.0.0.1:${reservePort()}`,
      ...Object.fromEntries(listeners.map(({ name, url }) => [name, url])),
    } as Readonly<Record<string, string>>,
    stop: async () => {
      for (const { stop } of listeners) await stop();
      await Promise.all([service.stop(), brief.stop(), issuer.stop()]);
    },
  };
}
