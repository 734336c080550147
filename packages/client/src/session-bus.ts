import { connect } from 'node:net';
import { join } from 'node:path';

/** Where the Secret Service of Linux is asked for; the environment's own words. */
export interface SessionBus {
  /** `DBUS_SESSION_BUS_ADDRESS` */
  readonly address?: string | undefined;
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDirectory?: string | undefined;
}

/** A bus that is alive answers within a millisecond. */
export const busTimeLimitMilliseconds = 1000;

/**
 * Whether a message bus listens there and answers. Asked before anything that would wait without end for one that
 * does not.
 */
export async function busAnswers(bus: SessionBus): Promise<boolean> {
  for (const path of socketsOf(bus)) {
    if (await socketAnswers(path)) return true;
  }
  return false;
}

/** The paths of the sockets; an abstract one begins with NUL. @see D-Bus Specification, Server Addresses */
export function socketsOf({ address, runtimeDirectory }: SessionBus): string[] {
  if (!address) return runtimeDirectory ? [join(runtimeDirectory, 'bus')] : [];
  return address
    .split(';')
    .filter((one) => one.startsWith('unix:'))
    .flatMap((one) => {
      const pairs = one.slice('unix:'.length).split(',');
      const value = (key: string) =>
        unescaped(pairs.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1));
      const path = value('path');
      const abstract = value('abstract');
      if (path) return [path];
      return abstract ? [`\0${abstract}`] : [];
    });
}

function unescaped(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** Asks for the ways to authenticate, and takes any answer for a sign of life. */
function socketAnswers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const end = (answered: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answered);
    };
    const timer = setTimeout(end, busTimeLimitMilliseconds, false);
    socket.on('connect', () => socket.write('\0AUTH\r\n'));
    socket.on('data', () => end(true));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });
}
