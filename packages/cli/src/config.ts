import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { SessionBus } from '@latchkey/client/session-bus';

export interface ProxySetting {
  readonly name: string;
  readonly value: string;
}

/** What the environment says, as it says it: a command checks what it uses. */
export interface Config {
  /** `LATCHKEY_SERVER` */
  readonly server: string | undefined;
  /** `LATCHKEY_CREDENTIALS` */
  readonly credentials: string | undefined;
  /** Where the credentials lie when they lie in a file. */
  readonly credentialsFile: string;
  readonly sessionBus: SessionBus;
  readonly noColor: boolean;
  /** A terminal that cannot rewrite a line. */
  readonly dumbTerminal: boolean;
  /** This is another machine's terminal, so a browser opened here would be seen by nobody. */
  readonly overSsh: boolean;
  /** There is a screen that a browser could open on. */
  readonly hasScreen: boolean;
  /** The settings that Bun's fetch follows, in the order in which they stand here. */
  readonly proxies: readonly ProxySetting[];
}

const proxyNames = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];

/** Reads the environment. What is empty counts as not set. */
export function readConfig(): Config {
  const value = (name: string): string | undefined => process.env[name] || undefined;
  const isSet = (...names: string[]): boolean => names.some((name) => value(name) !== undefined);
  // A relative path is to be ignored: XDG Base Directory Specification.
  const named = value('XDG_CONFIG_HOME');
  const configHome = named !== undefined && isAbsolute(named) ? named : join(homedir(), '.config');
  return {
    server: value('LATCHKEY_SERVER'),
    credentials: value('LATCHKEY_CREDENTIALS'),
    credentialsFile: join(configHome, 'latchkey', 'credentials.json'),
    sessionBus: { address: value('DBUS_SESSION_BUS_ADDRESS'), runtimeDirectory: value('XDG_RUNTIME_DIR') },
    noColor: isSet('NO_COLOR'),
    dumbTerminal: value('TERM') === 'dumb',
    overSsh: isSet('SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY'),
    hasScreen: process.platform !== 'linux' || isSet('DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'),
    proxies: proxyNames.flatMap((name) => {
      const setting = value(name);
      return setting === undefined ? [] : [{ name, value: setting }];
    }),
  };
}
