import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'bun';
import { runOperator, temporaryDirectory } from '#support/service.ts';
import { settingsWarnings } from '../../operator/announcement.ts';
import { allSettings, rateLimitNames, readConfig, unknownSettings } from '../../settings.ts';
import { generateKey, parseKeyRing } from '../crypto/primitives.ts';
import type { Config } from './config.ts';
import { ConfigError } from './config-error.ts';
import { readKeys, readLogKeys } from './server-keys.ts';

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}
const refusalOf = (env: Record<string, string>): string => refusal(() => readConfig(env));

/** Expects each value of a setting to be refused in one sentence that names the setting. */
function expectRefused(name: string, values: readonly string[]): void {
  const isNamed = new RegExp(`^${name} .+\\.$`);
  for (const value of values)
    expect([value, refusalOf({ [name]: value })]).toEqual([value, expect.stringMatching(isNamed)]);
}

// What is not derived is in docs/settings.md, which documents.test.ts compares; pages.test.ts has the product.
test('what no setting says follows from the others, and nothing changes it', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true);
  expect(readConfig({})).toMatchObject({
    databaseDirectUrl: undefined,
    baseUrl: 'http://localhost:8787',
    https: false,
    rpId: 'localhost',
    isLocal: true,
    hasPasskeys: true,
    mailFrom: 'Latchkey <no-reply@localhost>',
    devMailbox: true,
    signup: 'open',
    rateLimitsEnabled: true,
    refreshIdleTtlSeconds: 30 * 86_400,
    runIdleTtlSeconds: 3600,
  });
});

type Row = [env: Record<string, string>, expected: Partial<Config>];
const github = 'https://token.actions.githubusercontent.com';

test.each<Row>([
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '1' }, { port: 1, baseUrl: 'http://localhost:1' }],
  [{ PORT: '65535' }, { port: 65_535 }],
  // An empty variable counts as not set, and space around a value is not part of it.
  [{ PORT: '' }, { port: 8787 }],
  [{ PORT: ' 80\n' }, { port: 80 }],
  [{ LATCHKEY_SMTP_URL: 'smtps://u:p@mail.example/' }, { smtpUrl: 'smtps://u:p@mail.example/' }],
  [{ LATCHKEY_SMTP_URL: 'smtps://u:p@mail.example' }, { smtpUrl: 'smtps://u:p@mail.example' }],
  [{ HOST: '0.0.0.0' }, { host: '0.0.0.0', devMailbox: false }],
  [{ HOST: '::1' }, { host: '::1', devMailbox: true }],
  [{ HOST: 'localhost' }, { devMailbox: true }],
  [{ HOST: '127.1.2.3' }, { devMailbox: true }],
  [{ HOST: '::' }, { devMailbox: false }],
  [{ HOST: 'localhost.example.com' }, { devMailbox: false }],
  [{ DATABASE_URL: 'sqlite:/var/lib/latchkey.db' }, { databaseUrl: 'sqlite:/var/lib/latchkey.db' }],
  [{ DATABASE_URL: 'postgres://u:p@db.example/x' }, { databaseUrl: 'postgres://u:p@db.example/x' }],
  [{ DATABASE_URL: 'postgresql://db.example/latchkey' }, { databaseUrl: 'postgresql://db.example/latchkey' }],
  [
    { LATCHKEY_BASE_URL: 'https://Login.Example.com/' },
    { baseUrl: 'https://login.example.com', https: true, rpId: 'login.example.com', devMailbox: false },
  ],
  [{ LATCHKEY_BASE_URL: 'https://login.example.com:443' }, { baseUrl: 'https://login.example.com' }],
  [{ LATCHKEY_BASE_URL: 'http://localhost:80/' }, { baseUrl: 'http://localhost' }],
  [{ LATCHKEY_BASE_URL: 'http://localhost:443' }, { baseUrl: 'http://localhost:443' }],
  [{ LATCHKEY_BASE_URL: 'http://127.0.0.1:3000' }, { devMailbox: true }],
  [{ LATCHKEY_BASE_URL: 'http://[::1]:3000' }, { devMailbox: true }],
  [{ LATCHKEY_SMTP_URL: 'smtp://mail.example:25' }, { smtpUrl: 'smtp://mail.example:25', devMailbox: false }],
  [{ LATCHKEY_MAIL_FROM: 'a@example.com' }, { mailFrom: 'a@example.com' }],
  [{ LATCHKEY_MAIL_FROM: 'Ada <a@example.com>' }, { mailFrom: 'Ada <a@example.com>' }],
  [{ LATCHKEY_SIGNUP: 'Example.com, b.example ' }, { signup: ['example.com', 'b.example'] }],
  [{ LATCHKEY_SIGNUP: 'b\u00fccher.example' }, { signup: ['xn--bcher-kva.example'] }],
  [
    { LATCHKEY_ALLOWED_ORIGINS: 'https://A.example, http://b.example:81/' },
    { allowedOrigins: ['https://a.example', 'http://b.example:81'] },
  ],
  [{ LATCHKEY_TRUSTED_ISSUERS: 'github, gitlab' }, { trustedIssuers: [github, 'https://gitlab.com'] }],
  ...['https://ci.example/tenant/', 'https://ci.example:8443', 'http://127.0.0.1:4000'].map(
    (issuer): Row => [{ LATCHKEY_TRUSTED_ISSUERS: `github,${issuer}` }, { trustedIssuers: [github, issuer] }],
  ),
  [{ LATCHKEY_METRICS_TOKEN: 'x'.repeat(16) }, { metricsToken: 'x'.repeat(16) }],
  [{ LATCHKEY_LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  [{ LATCHKEY_RATE_LIMITS: 'off, runs=7/60' }, { rateLimitsEnabled: false }],
  // What follows from several.
  [
    { LATCHKEY_BASE_URL: 'http://login.internal:8787', LATCHKEY_INSECURE_HTTP: 'on' },
    { baseUrl: 'http://login.internal:8787', https: false, devMailbox: false },
  ],
  [{ LATCHKEY_BASE_URL: 'https://id.example.com', LATCHKEY_RP_ID: 'example.com' }, { rpId: 'example.com' }],
  // An idle timeout that is not set is never longer than the absolute lifetime.
  [{ LATCHKEY_SESSION_TTL: '3600' }, { refreshIdleTtlSeconds: 3600 }],
  [{ LATCHKEY_RUN_TTL: '60' }, { runIdleTtlSeconds: 60 }],
])('%j is accepted', (env, expected) => {
  expect(readConfig(env)).toMatchObject(expected);
});

test.each([
  ['PORT', ['65536', '-1', '80x', '8e3', '0x50', '1.5', '999999']],
  ['DATABASE_URL', ['mysql://x', 'data/latchkey.db', 'postgres:', 'postgres://', 'sqlite:/']],
  ['DATABASE_URL', ['postgres://a@h:99999/x', 'postgres://a@h,i:x/y']],
  ['DATABASE_URL', ['sqlite:', 'sqlite://', 'sqlite::memory:', 'sqlite://:memory:']],
  ['LATCHKEY_BASE_URL', ['localhost', 'ftp://a.example', 'https://a.example/b', 'https://a..b']],
  ['LATCHKEY_BASE_URL', ['https://u:p@a.example', 'https://', '*']],
  ['LATCHKEY_BASE_URL', ['http://login.example.com', 'http://192.0.2.7:8787']],
  ['LATCHKEY_BASE_URL', ['http://localhost.example.com', 'http://0.0.0.0']],
  ['LATCHKEY_INSECURE_HTTP', ['ON', 'true', '1', 'no']],
  ['LATCHKEY_SMTP_URL', ['mail.example', 'http://mail.example', 'smtp:', 'smtp://']],
  ['LATCHKEY_SMTP_URL', ['smtp://mail.example?requireTLS=false', 'smtp://h:0', 'smtp://u@h/path']],
  ['LATCHKEY_SMTP_URL', ['smtps://mail.example/?tls.rejectUnauthorized=false']],
  ['LATCHKEY_MAIL_FROM', ['x', 'Ada <x>', 'a@b>']],
  ['LATCHKEY_MAIL_FROM', ['Ada <a@b.example>\r\nBcc: e@e.example', 'a@b.example, c@d.example']],
  ['LATCHKEY_SIGNUP', ['https://example.com', '@example.com', 'a b', ',', 'exa mple.com', 'Open', 'CLOSED']],
  ['LATCHKEY_ALLOWED_ORIGINS', ['*', 'null', 'https://*.example.com']],
  ['LATCHKEY_ALLOWED_ORIGINS', ['a.example', 'https://a.example/x', 'https://a.example,*']],
  ['LATCHKEY_RP_ID', ['example.com', 'https://localhost', 'ocalhost']],
  ['LATCHKEY_TRUSTED_PROXIES', ['x', '10.0.0.0/33', '10.0.0.0/', '10.0.0.1-9']],
  ['LATCHKEY_TRUSTED_PROXIES', ['::/129', '10.0.0.1;10.0.0.2', '10', '10.1']],
  ['LATCHKEY_TRUSTED_ISSUERS', ['bitbucket', 'http://ci.example', '*', 'https://-a.example']],
  ['LATCHKEY_IDENTITY_AUDIENCES', [',', ' , ']],
  ['LATCHKEY_TRUSTED_ISSUERS', ['http://localhost:8787', 'http://localhost:8787/']],
  ['LATCHKEY_TRUSTED_ISSUERS', ['https://CI.example', 'https://ci.example:443']],
  ['LATCHKEY_TRUSTED_ISSUERS', ['https://ci.example/a/../b', 'https://ci.example/?a=b']],
  ['LATCHKEY_TRUSTED_ISSUERS', ['https://ci.example/#a', 'https://ada@ci.example']],
  ['LATCHKEY_METRICS_TOKEN', ['x'.repeat(15), 'a token with spaces', 'ä'.repeat(16)]],
  ['LATCHKEY_LOG_LEVEL', ['loud', 'INFO']],
  ['LATCHKEY_RATE_LIMITS', ['ON', 'true', '0', 'no', 'off, on']],
  ['LATCHKEY_RATE_LIMITS', ['runs=5/60, off', 'runs', 'runs=5', '5/60', 'RUNS=5/60']],
  ['LATCHKEY_RATE_LIMITS', ['runs=0/60', 'runs=5/9', 'runs=5/86401', 'runs=-1/60', 'runs=1000001/60']],
  [
    'LATCHKEY_RATE_LIMITS',
    ['runs=5/1e3', 'runs=5/ 60', 'runs=1.5/60', 'runs=5/60;notices=1/60', 'runs=1/60,runs=2/60'],
  ],
  ['LATCHKEY_RATE_LIMITS', ['walks=5/60', 'toString=5/60']],
])('%s refuses values that it cannot have, in a sentence that names it', expectRefused);

const durations = allSettings.flatMap(({ name, format }) =>
  format.seconds ? [[name, format.seconds] as const] : [],
);

test.each(durations)('%s is a whole number of seconds within its range', (name, { min, max }) => {
  expect(refusalOf({ [name]: `${min}` })).toBe('accepted');
  expectRefused(name, [`${min - 1}`, `${max + 1}`, `${min}.5`]);
  expectRefused(name, ['-1', 'x', '15m', '1e3', '99999999999', '5 s']);
});

test('LATCHKEY_RATE_LIMITS changes the limits that it names, and no others', () => {
  const defaults = readConfig({}).rateLimitQuotas;
  expect(readConfig({ LATCHKEY_RATE_LIMITS: 'off, runs=7/123, notices=1/60' }).rateLimitQuotas).toEqual({
    ...defaults,
    runs: { quota: 7, windowSeconds: 123 },
    notices: { quota: 1, windowSeconds: 60 },
  });
  for (const name of rateLimitNames) {
    const { rateLimitQuotas, rateLimitsEnabled } = readConfig({ LATCHKEY_RATE_LIMITS: `${name}=7/123` });
    expect(rateLimitsEnabled).toBe(true);
    expect(rateLimitQuotas[name]).toEqual({ quota: 7, windowSeconds: 123 });
  }
});

test.each([
  ['LATCHKEY_REFRESH_IDLE_TTL', '7200', 'LATCHKEY_SESSION_TTL', '3600'],
  ['LATCHKEY_RUN_IDLE_TTL', '7200', 'LATCHKEY_RUN_TTL', '3600'],
  ['LATCHKEY_RP_ID', 'evil.example', 'LATCHKEY_BASE_URL', 'https://id.example.com'],
  ['LATCHKEY_RP_ID', 'com', 'LATCHKEY_BASE_URL', 'https://id.example.com'],
  ['LATCHKEY_RP_ID', '0.1', 'LATCHKEY_BASE_URL', 'http://127.0.0.1'],
  ['LATCHKEY_TRUSTED_ISSUERS', 'https://id.example.com', 'LATCHKEY_BASE_URL', 'https://id.example.com'],
  ['LATCHKEY_TRUSTED_ISSUERS', 'http://127.0.0.1', 'LATCHKEY_BASE_URL', 'https://id.example.com'],
  ['LATCHKEY_BASE_URL', 'http://login.internal:8787', 'LATCHKEY_INSECURE_HTTP', 'off'],
  ['LATCHKEY_DATABASE_DIRECT_URL', 'postgres://db.example/x', 'DATABASE_URL', 'sqlite:x.db'],
])('%s of %s contradicts %s of %s', (name, value, other, otherValue) => {
  expect(refusalOf({ [name]: value, [other]: otherValue })).toMatch(new RegExp(`^${name} .*${other}`));
});

/** Values of settings, and a word of the warning that some of them get. */
test.each([
  ['LATCHKEY_BASE_URL', 'passkeys', ['http://127.0.0.1:8787', 'http://[::1]:8787', 'https://192.0.2.7']],
  ['LATCHKEY_BASE_URL', undefined, ['http://localhost:8787', 'https://login.example.com']],
  ['DATABASE_URL', undefined, ['sqlite:x.db', 'postgres://localhost/x', 'postgres://[::1]/x']],
  ['DATABASE_URL', undefined, ['postgres://database/x', 'postgres://db.example/x?sslmode=verify-full']],
  [
    'DATABASE_URL',
    'sslmode',
    ['postgres://db.example/x', 'postgres://a.example,b.example/x?sslmode=require'],
  ],
  ['LATCHKEY_TRUSTED_PROXIES', undefined, ['10.0.0.0/8']],
  ['LATCHKEY_TRUSTED_PROXIES', 'every address', ['::/0', '10.0.0.1, 0.0.0.0/0']],
] as const)('%s is warned about with %p', (name, part, values) => {
  for (const value of values) {
    const warnings = settingsWarnings(readConfig({ [name]: value }), []);
    const found = /passkeys|sslmode|every address/.exec(warnings.join())?.[0];
    expect([value, found]).toEqual([value, part]);
  }
});

test('unknownSettings lists unknown LATCHKEY_ variables only', () => {
  expect(
    unknownSettings({ LATCHKEY_SINGUP: 'x', LATCHKEY_SIGNUP: 'open', LATCHKEY_KEYS: 'x', PATH: 'x' }),
  ).toEqual(['LATCHKEY_SINGUP']);
});

describe('keys', () => {
  /** An empty directory, the settings of a store in one below it, which does not exist yet, and its key file. */
  const newStore = () => {
    const directory = join(temporaryDirectory(), 'deep');
    const file = join(directory, 'latchkey.keys');
    return { directory, file, env: { DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}` } };
  };
  const ringOf = (env: Record<string, string>) => readKeys(readConfig(env), { create: true, env });
  const idOf = (env: Record<string, string>) => ringOf(env).signing.id.toString('hex');

  test('on SQLite a key file of mode 0600 is created once, next to the database', () => {
    const { directory, file, env } = newStore();
    const first = idOf(env);
    expect(readdirSync(directory)).toEqual(['latchkey.keys']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Buffer.from(readFileSync(file, 'utf8').trim(), 'base64url')).toHaveLength(32);
    expect(idOf(env)).toBe(first);
    expect(idOf(newStore().env)).not.toBe(first);
  });

  test('processes that start at the same time agree on one key and leave no other file', async () => {
    const { directory, env } = newStore();
    const importOf = (name: string, file: string) =>
      `import { ${name} } from ${JSON.stringify(join(import.meta.dir, file))};`;
    const program = `${importOf('readConfig', '../../settings.ts')} ${importOf('readKeys', 'server-keys.ts')}
      process.stdout.write(readKeys(readConfig(process.env), { create: true, env: process.env }).signing.id.toString('hex'));`;
    const started = Array.from({ length: 6 }, () =>
      spawn([process.execPath, '-e', program], {
        env: { PATH: '', ...env },
        cwd: temporaryDirectory(),
        stdout: 'pipe',
      }),
    );
    const ids = await Promise.all(started.map((child) => new Response(child.stdout).text()));
    expect(new Set(ids)).toEqual(new Set([idOf(env)]));
    expect(readdirSync(directory)).toEqual(['latchkey.keys']);
  });

  // key-ring.test.ts has every kind of invalid key.
  test('an invalid key file is refused and not overwritten', () => {
    for (const content of ['', `${generateKey()},`]) {
      const { directory, file, env } = newStore();
      mkdirSync(directory);
      writeFileSync(file, content);
      expect(refusal(() => ringOf(env))).toMatch(/^LATCHKEY_KEYS .*latchkey\.keys .*\.$/);
      expect(readFileSync(file, 'utf8')).toBe(content);
    }
  });

  test('LATCHKEY_KEYS is used in its order and creates no file', () => {
    const { directory, env } = newStore();
    const [one, two] = [generateKey(), generateKey()];
    const ring = ringOf({ ...env, LATCHKEY_KEYS: `${one}, ${two}` });
    expect(ring.all.map(({ id }) => id)).toEqual([one, two].map((key) => parseKeyRing(key).signing.id));
    expect(existsSync(directory)).toBe(false);
  });

  test('invalid keys are refused without being shown, among the retired ones also those of the ring', () => {
    const [one, two] = [generateKey(), generateKey()];
    const refusalOfRetired = (list: string) =>
      refusal(() => readLogKeys(parseKeyRing(one), { LATCHKEY_RETIRED_KEYS: list }));
    const refusals = [
      ...[`${one},${one}`, `${one};${two}`].map((list) => refusal(() => ringOf({ LATCHKEY_KEYS: list }))),
      ...[one, `${two},${one}`, `${two},${two}`, `${two},`].map(refusalOfRetired),
    ];
    for (const message of refusals) {
      expect(message).toMatch(/^LATCHKEY_(RETIRED_)?KEYS cannot be used: .+\.$/);
      for (const key of [one, two]) expect(message).not.toContain(key.slice(0, 20));
    }
  });
});

test.each([
  ['LATCHKEY_SIGNUP', { LATCHKEY_SIGNUP: '@' }],
  ['DATABASE_URL', { DATABASE_URL: 'sqlite:/proc/nowhere/x.db', LATCHKEY_KEYS: generateKey() }],
  ['DATABASE_URL', { DATABASE_URL: 'sqlite:/proc/nowhere/x.db' }],
  ['LATCHKEY_LOGO', { LATCHKEY_LOGO: 'nowhere.png' }],
  ['LATCHKEY_KEYS', { DATABASE_URL: 'postgres://127.0.0.1:1/x' }],
  ['HOST', { HOST: '192.0.2.1' }],
  ['HOST', { HOST: 'http://localhost' }],
  ['HOST', { HOST: '127.0.0.1:80' }],
])('an invalid %s stops the start with one line that names it', async (name, env) => {
  const { code, stderr, stdout } = await runOperator({ PORT: '0', ...env }, 'serve');
  expect([code, stdout]).toEqual([1, '']);
  const isNamed = expect.stringMatching(new RegExp(`^latchkey-server: ${name} .+\\.$`));
  expect(stderr.trim().split('\n')).toEqual([isNamed]);
});
