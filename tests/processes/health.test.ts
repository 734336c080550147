// `latchkey-server health`, the health check of container images.

import { expect, test } from 'bun:test';
import { reservePort } from '#support/reserved-port.ts';
import { runOperator, startService } from '#support/service.ts';

test('health succeeds in silence while the service is ready, also if it listens on every address', async () => {
  const service = await startService({ env: { HOST: '0.0.0.0' } });
  expect(await runOperator(service.env, 'health')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('health fails without a service, and when the service is not ready', async () => {
  const check = (port: number) => runOperator({ HOST: '127.0.0.1', PORT: String(port) }, 'health');
  const port = reservePort();
  expect(await check(port)).toEqual({
    code: 1,
    stdout: '',
    stderr: `latchkey-server: No response from http://127.0.0.1:${port}/readyz.\n`,
  });
  const draining = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(null, { status: 503 }),
  });
  expect(await check(draining.port!)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('/readyz answers 503'),
  });
  await draining.stop(true);
});
