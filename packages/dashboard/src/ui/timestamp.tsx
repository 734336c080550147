import { dateOnly, dateTime, timeAgo } from '../format.ts';

/** An RFC 3339 timestamp, as the reader wants times. Isolated, because their language may be written right to left. */
export const Timestamp = ({ at }: { at: string }) => (
  <time dir="auto" dateTime={at}>
    {dateTime(new Date(at))}
  </time>
);

/** The date; the time as well on hover. */
export const DateOnly = ({ at }: { at: string }) => (
  <time dir="auto" dateTime={at} title={dateTime(new Date(at))}>
    {dateOnly(new Date(at))}
  </time>
);

/** How long ago it was or how soon it will be; the whole date and time on hover. */
export const RelativeTime = ({ at }: { at: string }) => (
  <time dateTime={at} title={dateTime(new Date(at))}>
    {timeAgo(new Date(at), new Date())}
  </time>
);
