import { invalidRequest } from '../errors.ts';

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A position in a list that is sorted by time (milliseconds since 1970) and then by identifier. */
export interface Position {
  readonly time: number;
  readonly id: string;
}

/**
 * The position that a cursor encodes, or `start` without a cursor. The id of `start` is the prefix of all ids
 * in the list.
 * @throws {AuthError} `invalid_request` for a cursor that this service did not issue for such a list
 */
export function parseCursor(cursor: string | undefined, start: Position): Position {
  if (cursor === undefined) return start;
  const match = /^(\d{1,15}):([\w-]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  const position = match && { time: Number(match[1]), id: match[2]! };
  if (!position?.id.startsWith(start.id) || toCursor(position) !== cursor)
    throw invalidRequest('cursor: was not issued for this list');
  return position;
}

/** Where a page begins, and how many rows its statement reads: one more than the page has. */
export type PlaceInList = { readonly from_time: number; readonly from_id: string; readonly limit: number };

/**
 * Where the requested page begins. See `parseCursor` for `start`.
 * @throws {AuthError} `invalid_request` for a cursor that this service did not issue for such a list
 */
export function placeOf({ cursor, limit }: PageRequest, start: Position): PlaceInList {
  const { time, id } = parseCursor(cursor, start);
  return { from_time: time, from_id: id, limit: limit + 1 };
}

const toCursor = (position: Position): string =>
  Buffer.from(`${position.time}:${position.id}`).toString('base64url');

/** Turns `limit + 1` fetched rows into a page and the cursor of the next page, or null for the last page. */
export function paginate<Row>(rows: readonly Row[], limit: number, positionOf: (row: Row) => Position) {
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  return { entries, next_cursor: rows.length > limit && last ? toCursor(positionOf(last)) : null };
}
