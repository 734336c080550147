import { expect, spyOn, test } from 'bun:test';
import { readConfig } from '../settings.ts';
import { listen } from './listener.ts';

const sqlite = 'sqlite:x.db';
const postgres = 'postgres://localhost/latchkey';

const listenAt = (port: number, DATABASE_URL: string) =>
  listen(readConfig({ PORT: String(port), DATABASE_URL }), async () => new Response('here'));

test('an idle connection stays open for 80 s at least', async () => {
  const serve = spyOn(Bun, 'serve');
  const server = listenAt(0, sqlite);
  const [options] = serve.mock.calls.at(-1)!;
  serve.mockRestore();
  // Waiting for it would take as long: the runtime closes a connection without a request after this time.
  expect((options as { idleTimeout: number }).idleTimeout).toBeGreaterThanOrEqual(80);
  await server.stop(true);
});

// tests/processes/start.test.ts shares a port.
test.each([
  [sqlite, sqlite],
  [sqlite, postgres],
  [postgres, sqlite],
])(
  'a port that a service on %s uses stops the start of one on %s with a sentence that names PORT',
  async (first, second) => {
    const server = listenAt(0, first);
    expect(() => listenAt(server.port!, second)).toThrow(
      `PORT ${server.port} is already in use. Set PORT to a free one, or end the program that uses it.`,
    );
    await server.stop(true);
  },
);
