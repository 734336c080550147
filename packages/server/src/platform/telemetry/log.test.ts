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
    log.request(logged);
    expect(lines).toHaveLength(2);
    expect(withoutTime(lines[1])).toBe(withoutTime(lines[0])!);
  },
);

test('a silent logger writes no line for a request', () => {
  const { log, lines } = startLogger('silent');
  log.request(entry);
  expect(lines).toEqual([]);
});
