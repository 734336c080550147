// `latchkey-server health`, the health check of container images.

import { expect, test } from 'bun:test';
import { freePort } from '../support/free-port.ts';
import { runOperator, startService } from '../support/service.ts';

test('health succeeds in silence while the service is ready, also if it listens on every address', async () => {
  const service = await startService({ env: { HOST: '0.0.0.0' } });
  expect(await runOperator(service.env, 'health')).toEqual({ code: 0, stdout: '', stderr: '' });
  await service.stop();
});

test('health fails without a service, and when the service is not ready', async () => {
  const port = freePort();
  const check = () => runOperator({ HOST: '127.0.0.1', PORT: String(port) }, 'health');
  expect(await check()).toEqual({
    code: 1,
    stdout: '',
    stderr: `latchkey-server: no response from http://127.0.0.1:${port}/readyz.\n`,
  });
  const draining = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch: () => new Response(null, { status: 503 }),
  });
  expect(await check()).toMatchObject({ code: 1, stderr: expect.stringContaining('/readyz answers 503') });
  await draining.stop(true);
});
