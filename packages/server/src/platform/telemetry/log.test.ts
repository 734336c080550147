import { expect, test } from 'bun:test';
import pino from 'pino';
import { logRequest } from './log.ts';

const facts = {
  request_id: 'a"b\\c',
  method: 'GET',
  route: '/api/v1/auth/me',
  status: 200,
  outcome: 'ok',
  detail: undefined,
  duration_ms: 0.125,
};

function logging(level: string) {
  const lines: string[] = [];
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return { lines, log: pino(options, { write: (line) => void lines.push(line) }) };
}

const withoutTime = (line: string | undefined) => line?.replace(/"time":"[\d-]+T[\d:.]+Z"/, '"time":""');

test.each([facts, { ...facts, detail: 'draining' }])(
  'the line of a request is the one that the logger itself would write',
  (said) => {
    const { log, lines } = logging('info');
    log.info(said, 'request');
    logRequest(log, said);
    expect(lines).toHaveLength(2);
    expect(withoutTime(lines[1])).toBe(withoutTime(lines[0])!);
  },
);

test('a silent log says nothing of requests either', () => {
  const { log, lines } = logging('silent');
  logRequest(log, facts);
  expect(lines).toEqual([]);
});
