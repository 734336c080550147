import '#support/english-pages.ts';
import { expect, test } from 'bun:test';
import { explain } from './error-messages.ts';

test('a message says when to try again if the service did, and a page can override its wording', () => {
  const now = new Date('2026-01-02T03:04:05Z');
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 42 }, {}, now)).toBe(
    'Too many attempts. Try again in 42 seconds.',
  );
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 1 }, {}, now)).toContain('in 1 second.');
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 61 }, {}, now)).toContain('in 2 minutes, at ');
  expect(explain({ code: 'invalid_grant' }, { invalid_grant: 'Wrong code.' }, now)).toBe('Wrong code.');
  expect(explain({ code: 'server_error' }, {}, now)).toContain('our side');
});
