import { connect } from 'node:net';
import { join } from 'node:path';

/** Where to find the Secret Service on Linux, as given by the environment. */
export interface SessionBus {
  /** `DBUS_SESSION_BUS_ADDRESS` */
  readonly address?: string | undefined;
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDirectory?: string | undefined;
}

/** A working bus responds within a millisecond. */
export const busTimeLimitMilliseconds = 1000;

/**
 * Whether a message bus listens and responds there. Check this first: the keychain library would wait forever for a
 * bus that hangs.
 */
export async function busAnswers(bus: SessionBus): Promise<boolean> {
  for (const path of socketsOf(bus)) {
    if (await socketAnswers(path)) return true;
  }
  return false;
}

/** The socket paths; an abstract socket begins with NUL. @see D-Bus Specification, Server Addresses */
export function socketsOf({ address, runtimeDirectory }: SessionBus): string[] {
  if (!address) return runtimeDirectory ? [join(runtimeDirectory, 'bus')] : [];
  return address
    .split(';')
    .filter((candidate) => candidate.startsWith('unix:'))
    .flatMap((candidate) => {
      // Forms give two more characters a meaning.
      const pairs = candidate.slice('unix:'.length).replace(/[+&]/g, encodeURIComponent);
      const keys = new URLSearchParams(pairs.replaceAll(',', '&'));
      const [path, abstract] = [keys.get('path'), keys.get('abstract')];
      if (path) return [path];
      return abstract ? [`\0${abstract}`] : [];
    });
}

/** Starts authentication and counts any response as a sign of life. */
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
