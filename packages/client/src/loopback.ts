import type { Fetch } from './transport.ts';

/** Whether a `URL` hostname is this machine, so that nothing crosses the network. @internal */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** The runtime's `fetch`, to this machine never through a proxy, which would see the tokens. @internal */
export const runtimeFetch: Fetch = (url, init) =>
  globalThis.fetch(url, isLoopbackHost(new URL(url).hostname) ? { ...init, ...withoutProxy() } : init);

/** Whether `fetch` follows the proxy settings of the environment: Node only if it was told to. @internal */
export const followsProxySettings = (): boolean => isBun() || environmentProxy() !== undefined;

const isBun = (): boolean => 'Bun' in globalThis;

/** What a dispatcher of Node is created with. @see https://undici.nodejs.org/#/docs/api/EnvHttpProxyAgent */
type Dispatcher = new (options: { readonly noProxy: string }) => object;

/** The kind of dispatcher that follows the settings, if Node uses it. */
function environmentProxy(): Dispatcher | undefined {
  const dispatcher = Object(Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')));
  return dispatcher.constructor.name === 'EnvHttpProxyAgent' ? dispatcher.constructor : undefined;
}

let direct: object | undefined;

/** The options by which this runtime connects to the host itself. */
function withoutProxy(): object {
  if (isBun()) return { proxy: false };
  const EnvironmentProxy = environmentProxy();
  if (!EnvironmentProxy) return {};
  direct ??= new EnvironmentProxy({ noProxy: '*' });
  return { dispatcher: direct };
}
