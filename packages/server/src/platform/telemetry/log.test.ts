import { expect, test } from 'bun:test';
import { onBothDatabases, openApp } from '#support/app.ts';
import { fresh } from '#support/shared.ts';
import { createLoggerTo, traceIdIn } from './log.ts';

const entry = {
  request_id: 'a"b\\c',
  method: 'GET',
  route: '/api/v1/auth/me',
  status: 200,
  outcome: 'ok',
  detail: undefined,
  duration_ms: 0.125,
};

function startLogger(level: string) {
  const lines: string[] = [];
  return { lines, log: createLoggerTo({ write: (line) => void lines.push(line) }, level) };
}

const withoutTime = (line: string | undefined) => line?.replace(/"time":"[\d-]+T[\d:.]+Z"/, '"time":""');

test.each([entry, { ...entry, detail: 'draining' }])(
  'the line of a request is the one that pino would write',
  (logged) => {
    const { log, lines } = startLogger('info');
    log.info(logged, 'request');
    log.request('info', logged);
    expect(lines).toHaveLength(2);
    expect(withoutTime(lines[1])).toBe(withoutTime(lines[0])!);
  },
);

test('a request of a lower level than that of the log, or of a silent one, writes no line', () => {
  const logged = (level: string) => {
    const { log, lines } = startLogger(level);
    for (const one of ['debug', 'info'] as const) log.request(one, entry);
    return lines.map((line) => JSON.parse(line).level);
  };
  expect(['debug', 'info', 'warn', 'silent'].map(logged)).toEqual([[20, 30], [30], [], []]);
});

const endingProgram = (lines: number) => `
  const { createLogger, written } = await import('${import.meta.dir}/log.ts');
  const log = createLogger('info');
  for (let line = 1; line < ${lines}; line++) log.info('x'.repeat(100));
  await Bun.sleep(30);
  log.info('last');
  await written(log);
  console.error('ended');
  process.exit();`;

test('a process that ends once its log is written loses no line, even if they are read late', async () => {
  const counts = [2, 2, 2, 2, 10_000].map(async (lines) => {
    const piped = '"$0" -e "$1" | { sleep 0.3; wc -l; }';
    const { stdout } = Bun.spawn(['sh', '-c', piped, process.execPath, endingProgram(lines)], {
      stderr: 'ignore',
    });
    return Number(await new Response(stdout).text()) - lines;
  });
  expect(await Promise.all(counts)).toEqual([0, 0, 0, 0, 0]);
});

test.each([
  ['hangs', 'cat <&3'],
  ['has gone', 'true'],
])('a process ends although the reader of its log %s', async (_, reader) => {
  // The reader waits for the end of the input of the shell.
  const piped = `exec 3<&0; "$0" -e "$1" </dev/null | { ${reader}; }`;
  const shell = Bun.spawn(['sh', '-c', piped, process.execPath, endingProgram(10_000)], {
    stdin: 'pipe',
    stderr: 'pipe',
  });
  const { value } = await shell.stderr.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('ended\n');
  shell.stdin.end();
  await shell.exited;
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

test.each([
  [`00-${traceId}-${parentId}-01`, traceId],
  [`00-${traceId}-${parentId}-00`, traceId],
  [`cc-${traceId}-${parentId}-01-what-comes-later`, traceId],
  [`00-${traceId}-${parentId}-01-x`, undefined],
  [`ff-${traceId}-${parentId}-01`, undefined],
  [`00-${traceId.toUpperCase()}-${parentId}-01`, undefined],
  [`00-${'0'.repeat(32)}-${parentId}-01`, undefined],
  [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
  [`00-${traceId}-${parentId}`, undefined],
  [`00-${traceId}-${parentId}-01\n`, undefined],
  ['', undefined],
  [null, undefined],
])('the traceparent %p names the trace %p', (header, expected) => {
  expect(traceIdIn(header)).toBe(expected);
});

onBothDatabases('a trace', (open) => {
  const t = fresh(open);
  const linesAbout = (text: string) =>
    t.logs.filter((line) => line.includes(text)).map((line) => JSON.parse(line));

  test('is named in the log lines of its requests and of the emails they queue, and in no others', async () => {
    const traced = Array.from({ length: 10 }, (_, n) => n.toString(16).padStart(32, 'a'));
    const traces = [...traced, ...traced.map(() => undefined)];
    const requestMail = (id: string | undefined, n: number) => {
      const headers = id === undefined ? {} : { traceparent: `00-${id}-${parentId}-01` };
      return t.ask('POST', '/magic_link', { json: { email: `person-${n}@example.com` }, headers });
    };
    await Promise.all(traces.map(requestMail));
    expect(await t.mails()).toHaveLength(traces.length);
    const requests = linesAbout('"route":"/api/v1/auth/magic_link"');
    const mails = linesAbout('"msg":"mail sent"');
    for (const lines of [requests, mails]) {
      expect(lines).toHaveLength(traces.length);
      expect(lines.flatMap(({ trace_id }) => trace_id ?? []).toSorted()).toEqual(traced);
    }
    // The span of an email is that of its request, which is not that of the caller.
    for (const { trace_id, span_id } of mails.filter((line) => line.trace_id)) {
      expect(span_id).toMatch(/^[0-9a-f]{16}$/);
      expect(span_id).not.toBe(parentId);
      expect(requests.find((line) => line.trace_id === trace_id).span_id).toBe(span_id);
    }
  });
});

test('a trace is named in the log lines of an unexpected error and of its request, and a malformed one in none', async () => {
  const t = await openApp('sqlite');
  const { access_token: token } = await t.login();
  const linesOf = async (path: string, traceparent: string) => {
    const before = t.logs.length;
    await t.ask('GET', path, { token, headers: { traceparent } });
    return t.logs.slice(before).map((line) => JSON.parse(line));
  };
  const [line] = await linesOf('/nowhere', `00-${traceId}`);
  expect(line.msg).toBe('request');
  expect(line).not.toHaveProperty('trace_id');
  await t.ctx.db.close();
  expect(await linesOf('/me', `00-${traceId}-${parentId}-01`)).toMatchObject([
    { msg: 'unexpected error', trace_id: traceId },
    { msg: 'request', status: 500, trace_id: traceId },
  ]);
});
