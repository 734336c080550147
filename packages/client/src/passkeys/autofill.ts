import type { Api } from '../api.ts';
import { unlessAborted } from '../clock.ts';
import { autofillSupported, useCredential } from './ceremony.ts';
import type { Assertion } from './log-in.ts';

/** The part of a challenge's lifetime after which it is replaced. */
const renewAfter = 0.8;
/** Autofill stops after this many failures; the button and the email link still work. */
const maxFailures = 5;

/**
 * Offers passkeys in the browser's autofill while it runs, without showing errors. A challenge is single use and
 * expires, so each use and each expiry requests a new one.
 * @param use signs in; resolves to true once the person is signed in and the page is about to be left
 * @example
 * const autofill = passkeyAutofill(api, async (assertion) => {
 *   await redeemPasskey(api, assertion, { session: 'cookie' });
 *   return true;
 * });
 */
export function passkeyAutofill(api: Api, use: (assertion: Assertion) => Promise<boolean>) {
  let running: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;

  async function run(stop: AbortSignal): Promise<void> {
    if (!(await autofillSupported())) return;
    let failures = 0;
    while (!stop.aborted && failures < maxFailures) {
      const options = await api.call('startPasskeyLogin').catch(() => undefined);
      if (!options || stop.aborted) return;
      const { rpId, timeout } = options;
      const renewal = AbortSignal.timeout(timeout * renewAfter);
      const signal = AbortSignal.any([stop, renewal]);
      const response = await useCredential(options, signal).catch(() => undefined);
      if (response && (await use({ rpId, response }))) return;
      if (!signal.aborted) failures++;
      await untilVisible(stop);
    }
  }

  return {
    start(): void {
      if (running !== undefined) return;
      const controller = new AbortController();
      running = { controller, ended: run(controller.signal) };
    },
    /** Resolves once the browser can take another request. */
    async stop(): Promise<void> {
      const stopping = running;
      running = undefined;
      stopping?.controller.abort();
      await stopping?.ended;
    },
  };
}

/** A page in the background sends no requests. */
async function untilVisible(stop: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible') return;
  const visible = new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true, signal: stop });
  });
  await unlessAborted(visible, stop).catch(() => {});
}
