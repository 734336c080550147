// axe-core in a page. It runs in an isolated world, as an extension would, so that the page's content security policy stays in place.

import { expect } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Per violation. */
const shownElements = 3;

/** Returns what finds the violations of some rules, or else of all, in a page, with their elements. */
export async function axeIn(page: Page): Promise<(...rules: string[]) => Promise<string[]>> {
  const cdp = await page.context().newCDPSession(page);
  const { frameTree } = await cdp.send('Page.getFrameTree');
  const world = { frameId: frameTree.frame.id, worldName: 'axe' };
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', world);
  await cdp.send('Runtime.evaluate', { expression: axe, contextId });
  return async (...rules) => {
    const options = { resultTypes: ['violations'], ...(rules.length > 0 ? { runOnly: rules } : {}) };
    const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
      expression: `axe.run(${JSON.stringify(options)})`,
      contextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(`axe: ${exceptionDetails.exception?.description}`);
    const { violations, passes } = result.value as AxeResults;
    expect(passes.length).toBeGreaterThan(0);
    return violations.map(({ id, nodes }) => {
      const shown = nodes.slice(0, shownElements);
      return `${id}: ${shown.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`;
    });
  };
}
