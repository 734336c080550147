// Whether the answer to a mail request tells by its time if the account exists: medians of requests in turn for an
// address with an account and for one without, in one process: `bun bench/known-addresses.ts [requests]`.

import { openApp } from '../tests/support/app.ts';

const requests = Number(process.argv[2] ?? 2000);

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;

for (const dialect of ['sqlite', 'postgres'] as const) {
  const app = await openApp(dialect);
  await app.login('known@example.com');
  const ask = async (email: string): Promise<number> => {
    const started = performance.now();
    const { status } = await app.ask('POST', '/magic_link', { json: { email } });
    if (status !== 202) throw new Error(`${status}`);
    return (performance.now() - started) * 1000;
  };
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let i = 0; i < requests; i++) {
    times.known.push(await ask('known@example.com'));
    times.unknown.push(await ask('other@example.com'));
  }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  process.stdout.write(
    `${dialect}: known ${known.toFixed(0)} us, unknown ${unknown.toFixed(0)} us, ratio ${(known / unknown).toFixed(3)}\n`,
  );
  await app.close();
}
process.exit(0);
