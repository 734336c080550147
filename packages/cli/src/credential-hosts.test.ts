import { describe, expect, test } from 'bun:test';
import { destinationOf, isNamed, requireHosts } from './commands/credential-git.ts';
import { UsageError } from './exit.ts';

describe('a host gets a token only if it is named with its port', () => {
  const cases: [protocol: string, host: string, named: string, isAnswered: boolean][] = [
    ['https', 'git.example', 'git.example', true],
    ['https', 'GIT.example', 'git.EXAMPLE', true],
    ['https', 'git.example:443', 'git.example', true],
    ['https', 'git.example', 'git.example:443', true],
    ['https', 'git.example:8443', 'git.example:8443', true],
    ['https', '[::1]:8443', '[::1]:8443', true],
    ['http', 'localhost:3000', 'localhost:3000', true],
    ['http', '127.0.0.1', '127.0.0.1:80', true],
    ['http', 'localhost', 'localhost:443', false],
    ['https', 'git.example:8443', 'git.example', false],
    ['https', 'git.example', 'git.example:8443', false],
    ['https', 'www.git.example', 'git.example', false],
    ['https', 'git.example.', 'git.example', false],
    ['https', 'git.example.other', 'git.example', false],
    ['https', 'git.example@other.example', 'git.example', false],
    ['https', 'git.exa\tmple', 'git.example', false],
    ['https', 'git.example\r', 'git.example', false],
    ['https', 'git.example:99999', 'git.example', false],
    ['https', '', 'git.example', false],
    ['http', 'git.example', 'git.example', false],
    ['http', 'localhost.git.example', 'localhost.git.example', false],
    ['ssh', 'git.example', 'git.example', false],
  ];
  for (const [protocol, host, named, isAnswered] of cases) {
    test(`${protocol} ${JSON.stringify(host)} named as ${named}: ${isAnswered}`, () => {
      const origin = destinationOf(protocol, host);
      expect(origin !== undefined && isNamed(origin, ['unrelated.example', named])).toBe(isAnswered);
    });
  }
});

test('a name for hosts has no scheme, path, user or wildcard', () => {
  expect(() => requireHosts(['git.example', 'git.example:8443', '[::1]:80'])).not.toThrow();
  for (const host of ['', '*', 'https://git.example', 'git.example/', 'a@git.example', 'git.example:0x1']) {
    expect(() => requireHosts([host])).toThrow(UsageError);
  }
});
