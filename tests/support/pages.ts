// Lists that come in pages.

import { expect } from 'bun:test';
import type { Ask, TestApp } from './app.ts';

/** The pages of a list, each with the entries that `member` of the response holds. */
export async function pagesOf<Entry>(
  app: TestApp,
  path: string,
  member: string,
  limit: number,
  ask: Ask,
): Promise<Entry[][]> {
  const pages: Entry[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const and = path.includes('?') ? '&' : '?';
    const { status, body } = await app.ask(
      'GET',
      `${path}${and}limit=${limit}${cursor && `&cursor=${cursor}`}`,
      ask,
    );
    expect([status, body[member].length <= limit]).toEqual([200, true]);
    pages.push(body[member]);
    cursor = body.next_cursor;
  }
  return pages;
}
