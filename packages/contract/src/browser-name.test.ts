import { expect, test } from 'bun:test';
import { browserName } from './browser-name.ts';

const webKit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const blink = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0';
const iPhone = `(iPhone; CPU iPhone OS 18_0 like Mac OS X) ${webKit}`;

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${blink} Safari/537.36`, 'Chrome on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Safari/537.36 Edg/140.0.0.0`,
    'Microsoft Edge on Windows',
  ],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Safari/537.36 OPR/120.0.0.0`, 'Opera on Windows'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${blink} Mobile Safari/537.36`, 'Chrome on Android'],
  [
    'Mozilla/5.0 (Linux; Android 14; SM-S901B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
    'Samsung Internet on Android',
  ],
  [`Mozilla/5.0 ${iPhone} Version/18.0 Mobile/15E148 Safari/604.1`, 'Safari on iOS'],
  [`Mozilla/5.0 ${iPhone} CriOS/140.0.0.0 Mobile/15E148 Safari/604.1`, 'Chrome on iOS'],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webKit} Version/18.0 Safari/605.1.15`,
    'Safari on macOS',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (X11; Linux x86_64) Unheard/1.0', 'Linux'],
  ['Mozilla/5.0 (compatible; Somebot/2.1; +http://example.com/bot.html)', undefined],
  ['latchkey-cli/0.1.0 (linux; x64)', undefined],
  ['curl/8.5.0', undefined],
  ['', undefined],
])('%p is shown as %p', (userAgent, name) => {
  expect(browserName(userAgent)).toEqual(name);
});
