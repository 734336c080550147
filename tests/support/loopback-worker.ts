// Sends a token to the server on this machine that its argument names, in every way that the SDK does.

import { connectAgent } from '@latchkey/client/agent';
import { createApi } from '@latchkey/client/api';
import { createGuard } from '@latchkey/client/guard';
import { openTokenSession } from '@latchkey/client/token-session';
import { createVerifier } from '@latchkey/client/verify';

const [, , server = ''] = process.argv;
const token = 'lk_at_token';
const verifier = createVerifier({ server, serviceKey: 'svc_a:secret' });
const guard = createGuard({ verifier, resource: 'https://a.example' });
const session = openTokenSession({ api: createApi({ server }), token });
const headers = { Authorization: `Bearer ${token}` };
const ways: Record<string, () => Promise<unknown>> = {
  call: () => session.call('getProfile'),
  fetch: () => session.fetch('/fetched'),
  verify: () => verifier.verify(token),
  guard: () => guard(new Request('https://a.example/', { headers })),
  metadata: () => verifier.issuer(),
  agent: () => connectAgent(`${server}#${'s'.repeat(43)}`),
};
for (const way of Object.values(ways)) await way().catch(() => {});
