import { AuthError } from '../errors.ts';

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A place in a list that is ordered by a time (milliseconds) and then by identifier. */
export interface Position {
  readonly time: number;
  readonly id: string;
}

/**
 * The place that a cursor names, or `start` without one.
 * @throws {AuthError} `invalid_request` for a cursor that this service did not make
 */
export function parseCursor(cursor: string | undefined, start: Position): Position {
  if (cursor === undefined) return start;
  const match = /^(\d{1,15}):([\w-]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  const place = match && { time: Number(match[1]), id: match[2]! };
  if (!place || toCursor(place) !== cursor) {
    throw new AuthError('invalid_request', 'cursor: is not one that this service made');
  }
  return place;
}

const toCursor = (place: Position): string => Buffer.from(`${place.time}:${place.id}`).toString('base64url');

/** Splits `limit + 1` fetched rows into a page and the cursor of the next one, null when there is none. */
export function paginate<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => Position,
): { entries: Row[]; next_cursor: string | null } {
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  return { entries, next_cursor: rows.length > limit && last ? toCursor(placeOf(last)) : null };
}
