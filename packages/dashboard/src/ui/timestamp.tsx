import { dateOnly, dateTime, timeAgo } from '../format.ts';

/** An RFC 3339 timestamp; the whole date and time on hover. Isolated, because its language may be written right to left. */
const written =
  (write: (time: Date) => string) =>
  ({ at }: { at: string }) => (
    <time dir="auto" dateTime={at} title={dateTime(new Date(at))}>
      {write(new Date(at))}
    </time>
  );

export const Timestamp = written(dateTime);
export const DateOnly = written(dateOnly);

/** How long ago it was or how soon it will be. */
export const RelativeTime = written((time) => timeAgo(time, new Date()));
