// Tests neither wait for a time nor measure one, and draw nothing that a seed does not repeat. A stall of the machine then
// changes nothing, and a failure can be repeated. CONTRIBUTING.md says what to use instead.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';

const root = join(import.meta.dir, '../..');

const forbidden: Readonly<Record<string, RegExp>> = {
  'Bun.sleep': /\bBun\.sleep\b/,
  setTimeout: /\bset(?:Timeout|Interval)\b|timers\/promises/,
  'Date.now': /\bDate\.now\b|\bnew Date\(\)/,
  'performance.now': /\bperformance\.now\b|\bBun\.nanoseconds\b|\bhrtime\b/,
  'Math.random': /\bMath\.random\b|from 'fast-check'/,
  setSystemTime: /\bsetSystemTime\b|\buseFakeTimers\b/,
  setDefaultTimeout: /(?<!\.)\bsetDefaultTimeout\b/,
  'a time limit of its own': /(?:^ *\}|\btest\(.*\)), [\d_]+\);$/m,
  retry: /\bretry: *[1-9]|\brepeats: *[1-9]/,
};
type Forbidden = keyof typeof forbidden;

/** What a file or folder may use nevertheless, and why. */
const allowed: Readonly<Record<string, readonly [reason: string, ...Forbidden[]]>> = {
  'tests/support/until.ts': ['the one wait for a state', 'Bun.sleep', 'performance.now'],
  'tests/support/fc.ts': ['gives fast-check the seed', 'Math.random'],
  'tests/support/browser.ts': ['the clock of a page, which the browser fakes', 'Date.now'],
  'tests/support/cli.ts': ['stores logins for programs, which live in real time', 'Date.now'],
  'tests/support/client-suite.ts': ['a program against a service in real time', 'Date.now', 'setTimeout'],
  'tests/support/issuer.ts': ['issues tokens for a service that lives in real time', 'Date.now'],
  'tests/support/store-worker.ts': ['a program, which holds a lock while another waits', 'setTimeout'],
  'tests/support/fault-proxy.ts': ['a slow network', 'Bun.sleep'],
  'tests/support/people.ts': ['takes a timer from the sign-in page', 'setTimeout'],
  'tests/support/smtp.ts': ['a slow mail server, and when it took a mail', 'Bun.sleep', 'performance.now'],
  'tests/support/transcript.ts': ['pauses of a transcript, between two programs', 'Bun.sleep'],
  'packages/dashboard/src/device/approval-status.test.ts': ['sets the clock of a page', 'setSystemTime'],
  'packages/server/src/trust/discovery/standard-client.test.ts': [
    'gives a library the time of the service',
    'Date.now',
  ],
  'packages/server/src/platform/telemetry/log.test.ts': [
    'within a program that logs after a pause',
    'Bun.sleep',
  ],
  'tests/faults/': ['a crowd in real time', 'Bun.sleep', 'setTimeout', 'Date.now', 'performance.now'],
  'tests/hostile/': ['ends a connection that says nothing; reports a rate', 'setTimeout', 'performance.now'],
  'tests/processes/agent.test.ts': ['stores a login for programs, which live in real time', 'Date.now'],
  'tests/processes/operator-keys.test.ts': ['a service in real time', 'Date.now'],
  'tests/processes/operator.test.ts': ['a service in real time', 'Date.now'],
  'tests/relying-parties/attacks.long.test.ts': ['gives a library the time of the service', 'Date.now'],
  'tests/soak/': ['a load whose latency is measured', 'Bun.sleep', 'Date.now', 'performance.now'],
};

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, '');

const usesIn = (text: string): Forbidden[] =>
  Object.keys(forbidden).filter((name) => forbidden[name]!.test(withoutComments(text)));

const files = [...new Glob('{tests,packages}/**/*.{ts,tsx}').scanSync(root)].filter(
  (path) =>
    (path.startsWith('tests/') || /\.test\.tsx?$/.test(path)) &&
    !path.includes('node_modules/') &&
    path !== 'tests/invariants/time-and-chance.test.ts',
);

const used = new Map<string, Forbidden[]>();
for (const path of files) {
  const uses = usesIn(await Bun.file(join(root, path)).text());
  if (uses.length > 0) used.set(path, uses);
}

const placeOf = (path: string): string | undefined =>
  Object.keys(allowed).find((place) => path === place || (place.endsWith('/') && path.startsWith(place)));

describe('time and chance in tests', () => {
  test('tests use no clock, timer or chance of the machine, outside of a list', () => {
    const complaints = [...used].flatMap(([path, uses]) => {
      const [, ...names] = allowed[placeOf(path) ?? ''] ?? [''];
      return uses.filter((name) => !names.includes(name)).map((name) => `${path} uses ${name}`);
    });
    expect(files.length).toBeGreaterThan(200);
    expect(complaints).toEqual([]);
  });

  test('nothing is on the list that needs it no longer', () => {
    const needed = new Set(
      [...used].flatMap(([path, uses]) => uses.map((name) => `${placeOf(path)} ${name}`)),
    );
    const needless = Object.entries(allowed).flatMap(([place, [, ...names]]) =>
      names.filter((name) => !needed.has(`${place} ${name}`)).map((name) => `${place}: ${name}`),
    );
    expect(needless).toEqual([]);
  });
});
