// Whether the response time of a mail request reveals if the account exists. Alternates between an address with an account
// and one without, in this process, so that no network or client adds noise.

import { openApp } from '../../tests/support/app.ts';
import type { Figure, Finding } from '../support/report.ts';
import { median } from '../support/rounds.ts';

const requests = 1500;

async function measure(dialect: 'sqlite' | 'postgres'): Promise<Finding> {
  const app = await openApp(dialect);
  await app.login('known@example.com');
  const ask = async (email: string): Promise<number> => {
    const started = performance.now();
    const { status } = await app.ask('POST', '/magic_link', { json: { email } });
    if (status !== 202) throw new Error(`POST /magic_link: ${status}`);
    return (performance.now() - started) * 1000;
  };
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let i = 0; i < requests; i++) {
    times.known.push(await ask('known@example.com'));
    times.unknown.push(await ask('other@example.com'));
  }
  await app.close();
  const [known, unknown] = [median(times.known), median(times.unknown)];
  return {
    what: `Time difference between mail requests for known and unknown addresses, ${dialect}`,
    value: Math.abs(known / unknown - 1) * 100,
    unit: '%',
    promise: { atMost: 10 },
    details: [`known ${known.toFixed(0)} us, unknown ${unknown.toFixed(0)} us, medians of ${requests} each`],
  };
}

export const knownAddresses: Figure = {
  name: 'known-addresses',
  run: async () => [await measure('sqlite'), await measure('postgres')],
};
