import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { followsProxySettings } from '@latchkey/client/internal/loopback';
import type { SessionBus } from '@latchkey/client/internal/storage/session-bus';
import { showsStyles } from '@latchkey/contract/terminal';

export interface ProxySetting {
  readonly name: string;
  readonly value: string;
}

export type Config = Readonly<ReturnType<typeof readConfig>>;

/** That Bun follows, and Node if it was told to. */
const proxyNames = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];
/** That only Bun follows. */
const bunProxyNames = ['ALL_PROXY', 'all_proxy'];

/** Both runtimes prefer a setting in lower case. */
const isProxyFollowed = ({ name }: ProxySetting, _: number, all: readonly ProxySetting[]): boolean =>
  (process.versions.bun !== undefined || (followsProxySettings() && proxyNames.includes(name))) &&
  (name === name.toLowerCase() || !all.some((other) => other.name === name.toLowerCase()));

/** Empty without HOME for a user without an entry in the password file, as in a container: not every command needs it. */
function homeDirectory(home: string | undefined): string {
  try {
    return home || homedir();
  } catch {
    return '';
  }
}

/** For the programs that this one starts: without the credentials that it was given and what its launcher set. */
function programEnvironment({
  LATCHKEY_TOKEN: _,
  LATCHKEY_ACCOUNT: __,
  LATCHKEY_FORMER_CACHE_PATH: former,
  ...environment
}: Readonly<Record<string, string | undefined>>) {
  if (former === undefined) return environment;
  return { ...environment, BUN_RUNTIME_TRANSPILER_CACHE_PATH: former === 'unset' ? undefined : former };
}

/**
 * Reads the environment, unchecked: each command checks the settings it uses. White space around a value does not count,
 * because one that comes from a file often ends in a line break. An empty variable counts as not set.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const isSet = (...names: string[]): boolean => names.some((name) => value(name) !== undefined);
  const home = homeDirectory(environment['HOME']);
  // The XDG Base Directory Specification says to ignore relative paths.
  const configHome = [value('XDG_CONFIG_HOME') ?? ''].find(isAbsolute) ?? join(home, '.config');
  const sessionBus: SessionBus = {
    address: value('DBUS_SESSION_BUS_ADDRESS'),
    runtimeDirectory: value('XDG_RUNTIME_DIR'),
  };
  const settings = [...proxyNames, ...bunProxyNames].flatMap((name): ProxySetting[] => {
    const setting = value(name);
    return setting === undefined ? [] : [{ name, value: setting }];
  });
  return {
    server: value('LATCHKEY_SERVER'),
    account: value('LATCHKEY_ACCOUNT'),
    /** An access token or key instead of a stored login. Never stored, printed only by `token`. */
    token: value('LATCHKEY_TOKEN'),
    /** Where to ask for tokens, instead of a stored login. */
    agent: value('LATCHKEY_AGENT'),
    credentials: value('LATCHKEY_CREDENTIALS'),
    programEnvironment: programEnvironment(environment),
    home,
    /** Where credentials are stored, unless in the keychain. */
    credentialsFile: join(configHome, 'latchkey', 'credentials.json'),
    sessionBus,
    noColor: !showsStyles(environment),
    /** The terminal cannot rewrite a line. */
    dumbTerminal: value('TERM') === 'dumb',
    /** The program that opens links, with its arguments. */
    browser: value('BROWSER'),
    /** The person sits at another machine: a browser could not come back to this one. */
    isOverSsh: isSet('SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY'),
    /** The person's browser is outside: only a program in `BROWSER` can open it. */
    isInContainer: isSet('REMOTE_CONTAINERS', 'CODESPACES'),
    /** There is a screen on which a browser can open. */
    hasScreen: process.platform !== 'linux' || isSet('DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'),
    /** The proxy settings that requests follow, except those to this machine. */
    proxies: settings.filter(isProxyFollowed),
    ignoredProxies: settings.filter((...setting) => !isProxyFollowed(...setting)),
  };
}
