import { createGuard } from '@latchkey/client/guard';
import { callerOf, requireCaller } from '@latchkey/client/guard/express';
import { createVerifier } from '@latchkey/client/verify';
import express from 'express';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const guard = createGuard({ verifier, onUnavailable: (error) => console.error(error.message) });

const app = express();
app.get('/projects', requireCaller(guard, { scopes: ['projects:read'] }), (request, response) => {
  const { subject, organizations } = callerOf(request);
  response.json({ user: subject, organizations });
});
const canWrite = requireCaller(guard, { scopes: ['projects:write'], maxAgeSeconds: 900 });
app.delete('/organizations/:slug/projects', canWrite, (request, response) => {
  const isOwner = callerOf(request).roleIn(request.params.slug) === 'owner';
  response.sendStatus(isOwner ? 204 : 403);
});
app.listen(Number(PORT));
