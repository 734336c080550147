import { expect, test } from 'bun:test';
import { webmailOf } from './webmail.ts';

test.each([
  ['ada@gmail.com', 'Gmail'],
  ['Ada@HotMail.com', 'Outlook'],
  ['"gmail.com"@proton.me', 'Proton Mail'],
  ['ada@gmail.com.example', undefined],
  ['ada@notgmail.com', undefined],
  ['gmail.com', 'Gmail'],
  ['', undefined],
])('the inbox of %p is at %p', (email, name) => {
  expect(webmailOf(email)?.name).toEqual(name);
});
