// What a screen reader gets from a page.

import type { CDPSession, Page } from 'playwright-core';

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** One per page for its lifetime: ending any session removes the page's virtual authenticators. */
function sessionWith(page: Page): Promise<CDPSession> {
  const session = sessions.get(page) ?? page.context().newCDPSession(page);
  sessions.set(page, session);
  return session;
}

/** Problems that the page would cause for people who use a screen reader, beside those that axe-core finds. */
export const screenReaderComplaints = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    // The page behind a modal dialog is not there for a screen reader.
    const modal = document.querySelector('dialog:modal');
    const all = (selector: string) => [...(modal ?? document).querySelectorAll(selector)];
    const shown = (selector: string) => all(selector).filter((one) => one.checkVisibility());
    const headings = shown('h1, h2, h3, h4').map(({ tagName }) => tagName);
    const isExplained = (field: Element) =>
      (field.getAttribute('aria-describedby') ?? '')
        .split(' ')
        .some((id) => document.getElementById(id)?.textContent?.trim());
    const complaints: Readonly<Record<string, readonly Element[]>> = {
      'no description of what is wrong with': shown('[aria-invalid=true]').filter((one) => !isExplained(one)),
      'a list without items': shown('ul, ol').filter((one) => !one.querySelector(':scope > li')),
      // It may not be announced if it appears together with its first text.
      'a live region that is not shown': all('[role=alert], [role=status], output').filter(
        (one) => !one.checkVisibility(),
      ),
      'a form without a live region for its errors':
        all('[role=alert]').length > 0 ? [] : shown('form, input:not([type=checkbox]), textarea'),
    };
    return [
      ...(modal || headings.lastIndexOf('H1') === 0 ? [] : [`not one heading first: ${headings}`]),
      ...Object.entries(complaints).flatMap(([what, found]) =>
        found.map((one) => `${what} ${one.outerHTML}`),
      ),
    ];
  });

/** The element with the keyboard focus, as a screen reader announces it: `heading "Denied"`. */
export async function focusIn(page: Page): Promise<string> {
  const { nodes } = await (await sessionWith(page)).send('Accessibility.getFullAXTree');
  const focused = nodes.findLast(({ ignored, properties = [] }) =>
    properties.some(({ name, value }) => !ignored && name === 'focused' && value.value === true),
  );
  const role = String(focused?.role?.value);
  return role === 'RootWebArea' ? 'page' : `${role} "${String(focused?.name?.value ?? '').trim()}"`;
}
