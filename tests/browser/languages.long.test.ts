// Pages in every language: that they fit on a small phone, and that axe-core finds nothing. How the language is chosen: times.long.test.ts.

import { expect, test } from 'bun:test';
import { languages } from '@latchkey/contract/languages';
import type { Page } from 'playwright-core';
import { axeIn } from '#support/axe.ts';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { mainStates } from '#support/page-states/languages.ts';
import { mailTexts } from '../../packages/server/src/platform/mail/texts/texts.ts';

const smallPhone = { width: 320, height: 640 };

/**
 * Buttons, links and headings whose text is cut or that are wider than the screen, words that are broken to fit into a
 * button, and what a text has in braces.
 */
const complaintsAbout = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const root = document.documentElement;
    const complaints = root.scrollWidth > root.clientWidth ? [`scrolls sideways: ${root.scrollWidth}`] : [];
    const open = /\{\w+\}|undefined/.exec(document.body.innerText)?.[0];
    if (open !== undefined) complaints.push(`not filled in: ${open}`);
    for (const element of document.querySelectorAll<HTMLElement>('button, a, h1, h2, h3, label, .badge')) {
      const { left, right, width } = element.getBoundingClientRect();
      if (width === 0) continue;
      const isCut = element.scrollWidth > Math.ceil(width) || element.scrollHeight > element.offsetHeight + 2;
      // The navigation of the account is a row that scrolls sideways.
      const isOutside = element.closest('.sections') === null && (left < 0 || right > root.clientWidth);
      if ((isCut && getComputedStyle(element).display !== 'inline') || isOutside)
        complaints.push(`cut: ${element.innerText}`);
    }
    const linesOf = (text: Node, start: number, end: number): number => {
      const range = document.createRange();
      range.setStart(text, start);
      range.setEnd(text, end);
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    };
    for (const button of document.querySelectorAll('button, a.button')) {
      const walker = document.createTreeWalker(button, NodeFilter.SHOW_TEXT);
      for (let text = walker.nextNode(); text !== null; text = walker.nextNode())
        for (const { 0: word, index } of (text.nodeValue ?? '').matchAll(/[\p{Script=Latin}'’]+/gu))
          if (linesOf(text, index, index + word.length) > 1) complaints.push(`broken: ${word}`);
    }
    return complaints;
  });

/** States that axe-core looks at: one for each kind of page. */
const checkedByAxe = ['login', 'not-me', 'device', 'account-forms'];

test.each([...languages])(
  'in %s no button is cut on a small phone, axe-core finds nothing, and text of a program is quoted as in emails',
  async (language) => {
    const page = await newPage({ locale: language, viewport: smallPhone });
    const errors: string[] = [];
    page.on('pageerror', (error) => void errors.push(String(error)));
    const found: [string, string[]][] = [];
    const opened: string[] = [];
    for (const [name, open] of Object.entries(mainStates(service.url, language))) {
      await open(page);
      opened.push(name);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      const complaints = await complaintsAbout(page);
      if (name === 'device') {
        const set = await page
          .locator('q')
          .first()
          .evaluate((element) => getComputedStyle(element).quotes);
        const quotes = set === 'auto' ? [] : set.replaceAll('"', '').split(' ');
        const own = language === 'es' || language === 'fr' ? mailTexts[language].quoted.split('{text}') : [];
        expect([language, ...quotes]).toEqual([language, ...own]);
      }
      if (checkedByAxe.includes(name)) complaints.push(...(await (await axeIn(page))()));
      if (complaints.length > 0) found.push([name, complaints]);
    }
    expect(found).toEqual([]);
    expect(errors).toEqual([]);
    expect(opened).toContain('account-deletion');
  },
);
