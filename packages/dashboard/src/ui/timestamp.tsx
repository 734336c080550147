import { dateTime } from '../format.ts';

/** An RFC 3339 timestamp, as the reader wants times. Isolated, because their language may be written right to left. */
export const Timestamp = ({ at }: { at: string }) => (
  <time dir="auto" dateTime={at}>
    {dateTime(new Date(at))}
  </time>
);
