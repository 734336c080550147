import { dateTime } from '../words.ts';

/** A moment of the interface, as the reader writes dates. */
export const Moment = ({ at }: { at: string }) => <time dateTime={at}>{dateTime(new Date(at))}</time>;
