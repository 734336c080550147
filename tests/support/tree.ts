// The accessibility tree of a page, as the browser exposes it to a screen reader.

import type { CDPSession, Page } from 'playwright-core';

interface TreeNode {
  readonly role: string;
  readonly name: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, unknown>>;
  /** The nearest ancestor that is not ignored. */
  readonly parent: TreeNode | undefined;
}

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** One per page for its lifetime: ending any session removes the page's virtual authenticators. */
function sessionWith(page: Page): Promise<CDPSession> {
  const session = sessions.get(page) ?? page.context().newCDPSession(page);
  sessions.set(page, session);
  return session;
}

/** The nodes that a screen reader sees, in reading order. */
async function readTree(page: Page): Promise<TreeNode[]> {
  const { nodes } = await (await sessionWith(page)).send('Accessibility.getFullAXTree');
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const found: TreeNode[] = [];
  const visit = (id: string, parent: TreeNode | undefined): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const own: TreeNode = {
      role: String(node.role?.value),
      name: String(node.name?.value ?? '').trim(),
      description: String(node.description?.value ?? '').trim(),
      properties: Object.fromEntries((node.properties ?? []).map(({ name, value }) => [name, value.value])),
      parent,
    };
    if (!node.ignored) found.push(own);
    for (const child of node.childIds ?? []) visit(child, node.ignored ? parent : own);
  };
  const root = nodes[0];
  if (root) visit(root.nodeId, undefined);
  return found;
}

/**
 * Problems that the page would cause for people who use a screen reader, beside those that axe-core finds. The page must not change
 * meanwhile: what it shows is read twice.
 */
export async function treeComplaints(page: Page): Promise<string[]> {
  const nodes = await readTree(page);
  const ofRole = (...roles: string[]) => nodes.filter(({ role }) => roles.includes(role));
  const complaints: string[] = [];
  const expectCount = (what: string, found: number, expected: number) => {
    if (found !== expected) complaints.push(`${found} of ${what}, not ${expected}`);
  };

  // The page behind a modal dialog is not in the tree while the dialog is open.
  const isModal = ofRole('dialog').some(({ properties }) => properties['modal'] === true);
  if (!isModal) {
    const levels = ofRole('heading').map(({ properties }) => Number(properties['level']));
    expectCount('the first-level heading', levels.filter((level) => level === 1).length, 1);
    if (levels[0] !== 1) complaints.push(`the first heading is of level ${levels[0]}`);
  }
  for (const { name, properties, description } of ofRole('textbox', 'combobox')) {
    if (properties['invalid'] === 'true' && description === '')
      complaints.push(`no description says what is wrong with "${name}"`);
  }
  for (const list of ofRole('list')) {
    if (!nodes.some(({ role, parent }) => role === 'listitem' && parent === list))
      complaints.push(`the list "${list.name}" has no items`);
  }
  const within = isModal ? 'dialog ' : '';
  const lists = await page
    .locator(`${within}:is(ul, ol)`)
    .evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
  expectCount('lists', ofRole('list').length, lists);
  // A live region that is added together with its first text may not be announced.
  const live = await page.locator(`${within}:is([role=alert], [role=status], output)`).count();
  expectCount('live regions', ofRole('alert', 'status').length, live);
  if (ofRole('form', 'textbox').length > 0 && ofRole('alert').length === 0)
    complaints.push('the form has no live region for its errors');
  return complaints;
}

/** The element with the keyboard focus, as a screen reader announces it: `heading "Denied"`. */
export async function focusIn(page: Page): Promise<string> {
  const focused = (await readTree(page)).findLast(({ properties }) => properties['focused'] === true);
  return focused?.role === 'RootWebArea' ? 'page' : `${focused?.role} "${focused?.name}"`;
}
