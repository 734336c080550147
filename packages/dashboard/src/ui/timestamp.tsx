import { dateTime } from '../format.ts';

/** An RFC 3339 timestamp, shown in the reader's locale and time zone. */
export const Timestamp = ({ at }: { at: string }) => <time dateTime={at}>{dateTime(new Date(at))}</time>;
