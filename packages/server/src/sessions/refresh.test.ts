import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../tests/support/app.ts';
onBothDatabases('probe', (open) => {
  test('x', async () => {
    let s = performance.now();
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off' } });
    process.stderr.write(`open ${performance.now() - s}\n`); 
    let now = app.ctx.clock();
    Object.assign(app.ctx, { clock: () => now });
    for (let i = 0; i < 3; i++) { s = performance.now();
    const t = await app.login();
    process.stderr.write(`login ${performance.now() - s}\n`); s = performance.now(); await app.deviceLogin(t);
    process.stderr.write(`device ${performance.now() - s}\n`); now += 1000; }
    const a = await app.ask('GET', '/me');
    process.stderr.write(`${a.headers.get('WWW-Authenticate')}\n`);
    expect(1).toBe(1);
    await app.close();
  }, 30000);
});
