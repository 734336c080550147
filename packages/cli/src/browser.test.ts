import { expect, test } from 'bun:test';
import { browserCommands } from './browser.ts';

const address = 'https://login.example/device?user_code=BCDF-GHJK&a=$&b';

test.each<[string, NodeJS.Platform, string[][]]>([
  ['firefox', 'linux', [['firefox', address]]],
  ['firefox --new-window', 'linux', [['firefox', '--new-window', address]]],
  [
    'w3m:lynx %s -x',
    'linux',
    [
      ['w3m', address],
      ['lynx', address, '-x'],
    ],
  ],
  [`"/opt/my browser" --title='a b'`, 'darwin', [['/opt/my browser', '--title=a b', address]]],
  ['browser --url=%s', 'linux', [['browser', `--url=${address}`]]],
  ['C:\\Tools\\browser.exe -x', 'win32', [['C:\\Tools\\browser.exe', '-x', address]]],
  [' : ', 'linux', []],
])('BROWSER=%s on %s', (browser, platform, commands) => {
  expect(browserCommands(browser, address, platform)).toEqual(commands);
});
