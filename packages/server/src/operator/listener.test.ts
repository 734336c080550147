import { expect, spyOn, test } from 'bun:test';
import { freePort } from '../../../../tests/support/free-port.ts';
import { readConfig } from '../settings.ts';
import { listen } from './listener.ts';

const config = (port: number) => readConfig({ PORT: String(port) });
const app = { fetch: async () => new Response('here') };

test('an idle connection stays open for 80 s at least', async () => {
  const serve = spyOn(Bun, 'serve');
  const server = listen(config(freePort()), app, { shared: false });
  const [options] = serve.mock.calls.at(-1)!;
  serve.mockRestore();
  // Waiting for it would take as long: the runtime closes a connection without a request after this time.
  expect((options as { idleTimeout: number }).idleTimeout).toBeGreaterThanOrEqual(80);
  await server.stop(true);
});

test('a used port stops the start with a sentence that names PORT', async () => {
  const port = freePort();
  const server = listen(config(port), app, { shared: false });
  expect(() => listen(config(port), app, { shared: false })).toThrow(
    `PORT ${port} is already in use. Set PORT to a free one, or end the program that uses it.`,
  );
  await server.stop(true);
});
