import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createGuard } from '@latchkey/client/guard';
import { requireCaller } from '@latchkey/client/guard/node';
import { createVerifier } from '@latchkey/client/verify';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const guard = createGuard({ verifier, onUnavailable: (error) => console.error(error.message) });

const canRead = guard.with({ scopes: ['projects:read'] });
async function listProjects(request: IncomingMessage, response: ServerResponse) {
  const caller = await requireCaller(canRead, request, response);
  if (!caller) return;
  const { subject, organizations } = caller;
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ user: subject, organizations }));
}

const canWrite = guard.with({ scopes: ['projects:write'], maxAgeSeconds: 900 });
async function deleteProjects(request: IncomingMessage, response: ServerResponse, slug: string) {
  const caller = await requireCaller(canWrite, request, response);
  if (!caller) return;
  const isOwner = caller.roleIn(slug) === 'owner';
  response.writeHead(isOwner ? 204 : 403).end();
}

const server = createServer(async (request, response) => {
  const slug = /^\/organizations\/([^/]+)\/projects$/.exec(request.url ?? '')?.[1];
  if (request.method === 'GET' && request.url === '/projects') return listProjects(request, response);
  if (request.method === 'DELETE' && slug) return deleteProjects(request, response, slug);
  response.writeHead(404).end();
});
server.listen(Number(PORT));
