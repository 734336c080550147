import { createGuard } from '@latchkey/client/guard';
import { callerOf, requireCaller } from '@latchkey/client/guard/hono';
import { createVerifier } from '@latchkey/client/verify';
import { Hono } from 'hono';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const guard = createGuard({ verifier, onUnavailable: (error) => console.error(error.message) });

const app = new Hono();
app.get('/projects', requireCaller(guard, { scopes: ['projects:read'] }), (context) => {
  const { subject, organizations } = callerOf(context);
  return context.json({ user: subject, organizations });
});
const canWrite = requireCaller(guard, { scopes: ['projects:write'], maxAgeSeconds: 900 });
app.delete('/organizations/:slug/projects', canWrite, (context) => {
  const isOwner = callerOf(context).roleIn(context.req.param('slug')) === 'owner';
  return context.body(null, isOwner ? 204 : 403);
});
export default { port: Number(PORT), fetch: app.fetch };
