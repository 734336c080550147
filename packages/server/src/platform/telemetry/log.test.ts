import { expect, test } from 'bun:test';
import { createLoggerTo } from './log.ts';

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
