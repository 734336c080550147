// Time from the click on Approve in a browser to the prompt of the terminal that waits in `latchkey login`.

import type { Page } from 'playwright-core';
import { newPage } from '../../tests/support/browser.ts';
import { newHome } from '../../tests/support/cli.ts';
import { linkIn, mailTo } from '../../tests/support/http.ts';
import { openTerminal, type Terminal } from '../../tests/support/terminal.ts';
import type { Figure } from '../support/report.ts';
import { median } from '../support/rounds.ts';
import { startService } from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';

const approvals = 20;
const email = 'ada@example.com';
/** For the poll after the link to reach the service, which then holds it. */
const settleMs = 500;

async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/login`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.goto(linkIn(await mailTo(url, email)));
  await page.getByRole('button', { name: `Sign in as ${email}` }).click();
  await page.waitForURL(`${url}/account`);
}

/** When the page got its last click, in milliseconds since 1970. */
const clickedAt = (page: Page): Promise<number> =>
  page.evaluate(() => Number(document.documentElement.dataset['clickedAt']));

/** Milliseconds from the click to the next prompt. */
async function clickToPrompt(page: Page, terminal: Terminal, round: number): Promise<number> {
  terminal.type(`latchkey login --no-browser; PS1='${round}> '\n`);
  const [link = ''] = await terminal.shows(
    new RegExp(`(?<=^${round - 1}> [^]*)http\\S+user_code=[A-Z-]+`, 'm'),
  );
  await page.goto(link);
  const approve = page.getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  await page.evaluate(() =>
    document.addEventListener(
      'click',
      () => {
        document.documentElement.dataset['clickedAt'] = String(performance.timeOrigin + performance.now());
      },
      { capture: true },
    ),
  );
  await Bun.sleep(settleMs);
  await approve.click();
  await terminal.shows(new RegExp(`^${round}> $`, 'm'));
  const promptAt = performance.timeOrigin + performance.now();
  return promptAt - (await clickedAt(page));
}

export const approval: Figure = {
  name: 'approval',
  run: async () => {
    const server = await startService({ databaseUrl: sqliteUrl() });
    // The service believes that its pages have this origin.
    const url = server.url.replace('127.0.0.1', 'localhost');
    const page = await newPage();
    await signIn(page, url);
    const terminal = openTerminal(newHome(), ['sh', '-i'], { PS1: '0> ', LATCHKEY_SERVER: url });
    const times: number[] = [];
    while (times.length < approvals) times.push(await clickToPrompt(page, terminal, times.length + 1));
    terminal.type('exit\n');
    await terminal.exited;
    await page.context().close();
    await server.stop();
    return [
      {
        what: 'Click on Approve to the prompt of the waiting terminal, SQLite',
        value: median(times),
        unit: 'ms',
        promise: { atMost: 300 },
        details: [`${times.map((time) => time.toFixed(0)).join(' ')} ms`],
      },
    ];
  },
};
