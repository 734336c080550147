import { createGuard } from '@latchkey/client/guard';
import { callerOf, requireCaller } from '@latchkey/client/guard/fastify';
import { createVerifier } from '@latchkey/client/verify';
import Fastify from 'fastify';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const guard = createGuard({ verifier, onUnavailable: (error) => console.error(error.message) });

const app = Fastify();
const canRead = requireCaller(guard, { scopes: ['projects:read'] });
app.get('/projects', { onRequest: canRead }, async (request) => {
  const { subject, organizations } = callerOf(request);
  return { user: subject, organizations };
});
const canWrite = requireCaller(guard, { scopes: ['projects:write'], maxAgeSeconds: 900 });
app.delete<{ Params: { slug: string } }>(
  '/organizations/:slug/projects',
  { onRequest: canWrite },
  async (request, reply) => {
    const isOwner = callerOf(request).roleIn(request.params.slug) === 'owner';
    return reply.code(isOwner ? 204 : 403).send();
  },
);
await app.listen({ port: Number(PORT) });
