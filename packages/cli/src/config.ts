import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { SessionBus } from '@latchkey/client/internal/storage/session-bus';

export interface ProxySetting {
  readonly name: string;
  readonly value: string;
}

/** The environment, unchecked: each command checks the settings it uses. */
export interface Config {
  /** `LATCHKEY_SERVER` */
  readonly server: string | undefined;
  /** `LATCHKEY_ACCOUNT` */
  readonly account: string | undefined;
  /** `LATCHKEY_TOKEN`: an access token or key in the place of a stored login. Never stored, printed only by `token`. */
  readonly token: string | undefined;
  /** `LATCHKEY_AGENT`: where to ask for tokens, in the place of a stored login. */
  readonly agent: string | undefined;
  /** `LATCHKEY_CREDENTIALS` */
  readonly credentials: string | undefined;
  /** `KUBERNETES_EXEC_INFO`, which Kubernetes sets for its credential helpers. */
  readonly kubernetesExecInfo: string | undefined;
  /** For the programs that this one starts: without the credentials that it was given. */
  readonly programEnvironment: Readonly<NodeJS.ProcessEnv>;
  readonly home: string;
  /** Where credentials are stored, unless in the keychain. */
  readonly credentialsFile: string;
  readonly sessionBus: SessionBus;
  /** When somebody was last told of a newer version. */
  readonly updateNoticeFile: string;
  /** Set by `NO_UPDATE_NOTIFIER`, and in continuous integration (`CI`): newer versions are not mentioned. */
  readonly noUpdateNotice: boolean;
  readonly noColor: boolean;
  /** The terminal cannot rewrite a line. */
  readonly dumbTerminal: boolean;
  /** The person sits at another machine: a browser opened here could not be seen, or not come back. */
  readonly isRemote: boolean;
  /** There is a screen on which a browser can open. */
  readonly hasScreen: boolean;
  /** The proxy settings that `fetch` follows. */
  readonly proxies: readonly ProxySetting[];
}

const proxyNames = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];

/** Bun follows proxy settings. Node follows them only with this flag, in versions that support it. */
const followsProxies = (setting: string | undefined): boolean =>
  process.versions.bun !== undefined ||
  (setting === '1' && process.allowedNodeEnvironmentFlags.has('--use-env-proxy'));

/** Reads the environment. An empty variable counts as not set. */
export function readConfig(): Config {
  const value = (name: string): string | undefined => process.env[name] || undefined;
  const isSet = (...names: string[]): boolean => names.some((name) => value(name) !== undefined);
  const home = homedir();
  const { LATCHKEY_TOKEN: _, LATCHKEY_ACCOUNT: __, ...programEnvironment } = process.env;
  // The XDG Base Directory Specification says to ignore relative paths.
  const directory = (name: string, usual: string): string => {
    const configured = value(name);
    return configured !== undefined && isAbsolute(configured) ? configured : join(home, usual);
  };
  return {
    server: value('LATCHKEY_SERVER'),
    account: value('LATCHKEY_ACCOUNT'),
    token: value('LATCHKEY_TOKEN'),
    agent: value('LATCHKEY_AGENT'),
    credentials: value('LATCHKEY_CREDENTIALS'),
    kubernetesExecInfo: value('KUBERNETES_EXEC_INFO'),
    programEnvironment,
    home,
    credentialsFile: join(directory('XDG_CONFIG_HOME', '.config'), 'latchkey', 'credentials.json'),
    updateNoticeFile: join(directory('XDG_STATE_HOME', '.local/state'), 'latchkey', 'update-notice'),
    noUpdateNotice: isSet('NO_UPDATE_NOTIFIER', 'CI'),
    sessionBus: { address: value('DBUS_SESSION_BUS_ADDRESS'), runtimeDirectory: value('XDG_RUNTIME_DIR') },
    noColor: isSet('NO_COLOR'),
    dumbTerminal: value('TERM') === 'dumb',
    isRemote: isSet('SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'REMOTE_CONTAINERS', 'CODESPACES'),
    hasScreen: process.platform !== 'linux' || isSet('DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'),
    proxies: (followsProxies(value('NODE_USE_ENV_PROXY')) ? proxyNames : []).flatMap((name) => {
      const setting = value(name);
      return setting === undefined ? [] : [{ name, value: setting }];
    }),
  };
}
