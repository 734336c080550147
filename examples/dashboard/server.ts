import service from '../web.ts';

const { LATCHKEY_SERVER = 'http://localhost:8787' } = process.env;
const policy = `default-src 'none'; script-src 'self'; connect-src 'self' ${LATCHKEY_SERVER}; frame-ancestors 'none'`;

/** Serves a file of this directory. */
const file = (name: string) =>
  new Response(Bun.file(new URL(name, import.meta.url)), { headers: { 'Content-Security-Policy': policy } });

export default {
  port: service.port,
  fetch: (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === '/') return file('index.html');
    if (pathname === '/page.js') return file('page.js');
    if (pathname === '/settings') return Response.json({ server: LATCHKEY_SERVER });
    return service.fetch(request);
  },
};
