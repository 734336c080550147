// Services of the platform: they verify tokens with the feed, and read it.

import { basic } from '#support/services.ts';
import { createVerifier, type Verifier } from '../../packages/client/src/verify.ts';
import { ask, type World } from './world.ts';

const maxEvents = 500;

/** A verifier for each node, which reads the feed there. A failure to read it is one of the faults. */
export const verifiersFor = ({ site, serviceKey }: World): Verifier[] =>
  site.nodes.map(({ url }) =>
    createVerifier({ server: url, serviceKey, feed: true, onFeedError: () => undefined }),
  );

/** Lets a service verify what ended lately, and some tokens that did not end. */
export async function verifyAtService(
  { recorder, random }: World,
  verifier: Verifier,
  name: string,
): Promise<void> {
  const tokens = new Set([...recorder.watchedAfterEnd(), ...recorder.someActive(random, 3)]);
  await Promise.all(
    [...tokens].map(async ({ session, text }) => {
      const sentAt = recorder.now();
      const verified = await verifier.verify(text).catch(() => undefined);
      if (verified)
        recorder.verifications.push({
          ...{ by: 'service', name, session: session.id, sentAt, endedAt: recorder.now() },
          isAccepted: verified.active,
        });
    }),
  );
}

export type FeedReader = ReturnType<typeof feedReader>;

/**
 * A reader that acknowledges what it was handed, and asks again if an answer is lost. Without a name it is the service itself, which is
 * never forgotten.
 */
export function feedReader(world: World, reader?: string) {
  const headers = { Authorization: basic(world.serviceKey) };
  let ack: string[] = [];
  /** The events that came; undefined without an answer. */
  const read = async (max = maxEvents): Promise<readonly string[] | undefined> => {
    const body = { ...(reader && { reader }), maxEvents: max, returnImmediately: true, ack };
    const { result } = await ask(world, 'feed', (api) => api.call('readFeed', { headers, body }));
    if (!result) return undefined;
    ack = Object.keys(result.sets);
    if (reader !== undefined) world.recorder.readings.push({ reader, events: ack });
    return ack;
  };
  /** Reads to the end, once nothing fails any more. */
  const drain = async (): Promise<readonly string[]> => {
    const events: string[] = [];
    for (;;) {
      const came = await read();
      if (came?.length === 0) return events;
      events.push(...(came ?? []));
    }
  };
  return { read, drain };
}
