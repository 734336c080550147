import { createGuard } from '@latchkey/client/guard';
import { createVerifier } from '@latchkey/client/verify';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const guard = createGuard({ verifier, onUnavailable: (error) => console.error(error.message) });

const canRead = guard.with({ scopes: ['projects:read'] });
async function listProjects(request: Request): Promise<Response> {
  const caller = await canRead(request);
  if (caller instanceof Response) return caller;
  return Response.json({ user: caller.subject, organizations: caller.organizations });
}

const canWrite = guard.with({ scopes: ['projects:write'], maxAgeSeconds: 900 });
async function deleteProjects(request: Request, slug: string): Promise<Response> {
  const caller = await canWrite(request);
  if (caller instanceof Response) return caller;
  return new Response(null, { status: caller.roleIn(slug) === 'owner' ? 204 : 403 });
}

export default {
  port: Number(PORT),
  fetch: (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    const slug = /^\/organizations\/([^/]+)\/projects$/.exec(pathname)?.[1];
    if (request.method === 'GET' && pathname === '/projects') return listProjects(request);
    if (request.method === 'DELETE' && slug) return deleteProjects(request, slug);
    return new Response(null, { status: 404 });
  },
};
