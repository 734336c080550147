import type { Api } from '../api.ts';
import { autofillSupported, useCredential } from './ceremony.ts';
import type { Assertion } from './log-in.ts';

/** The part of a challenge's life after which it is renewed. */
const renewAfter = 0.8;
/** A browser that keeps failing is left alone: the button and the mail still work. */
const maxFailures = 5;

/**
 * Offers passkeys among what the browser fills in, silently, for as long as it runs. A challenge is good once and
 * for a time: each use, and each passing of that time, asks for a new one.
 * @param use whether the person is signed in and the page is being left
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
    /** Resolves when the browser is free for another request. */
    async stop(): Promise<void> {
      const stopping = running;
      running = undefined;
      stopping?.controller.abort();
      await stopping?.ended;
    },
  };
}

/** A page that nobody looks at asks for nothing. */
function untilVisible(stop: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible' || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      document.removeEventListener('visibilitychange', look);
      stop.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    stop.addEventListener('abort', look);
  });
}
