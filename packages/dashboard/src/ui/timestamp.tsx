import { dateTime } from '../error-messages.ts';

/** A moment of the interface, as the reader writes dates. */
export const Timestamp = ({ at }: { at: string }) => <time dateTime={at}>{dateTime(new Date(at))}</time>;
