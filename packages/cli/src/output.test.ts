import { expect, test } from 'bun:test';
import { createOutput, type TextStream } from './output.ts';

/** A terminal of this width, and what was written to it. */
function terminal(columns: number) {
  const written: string[] = [];
  const stderr: TextStream & { columns: number } = {
    isTTY: true,
    columns,
    write: (text, done) => {
      written.push(text);
      done();
    },
  };
  const output = createOutput({ stdout: stderr, stderr, json: false, noColor: true, dumbTerminal: false });
  return { written, stderr, output };
}

test('a progress line is written only when it changes', () => {
  const { written, output } = terminal(80);
  for (const line of ['0:01 left', '0:00 left', '0:00 left', '0:00 left']) output.progress(line);
  output.progress();
  output.progress();
  expect(written).toEqual(['\r\u001b[2K0:01 left', '\r\u001b[2K0:00 left', '\r\u001b[2K']);
});

test('a progress line is cut to the width of the terminal, also after a resize', () => {
  const { written, stderr, output } = terminal(80);
  output.progress('Waiting for you; 9:59 left');
  stderr.columns = 11;
  output.progress('Waiting for you; 9:58 left');
  expect(written.at(-1)).toBe('\r\u001b[2KWaiting fo');
});
