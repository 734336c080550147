import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { createEventSigner, readFeed } from './polling.ts';
import { FeedWatch } from './watch.ts';

/** Hands out events to services. Requests stop waiting when the process is about to end. */
export function feedRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  const feed = { watch: new FeedWatch(ctx), sign: createEventSigner(ctx, keys) };
  api.on(endpoints.readFeed, async (call) => {
    // Creating the first keys takes longer than an event may take to arrive. A failure shows when an event is signed.
    void keys.published().catch(() => {});
    return { body: await readFeed(ctx, feed, call) };
  });
}
