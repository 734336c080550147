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

/** A reader that acknowledges what it was handed, and asks again if an answer is lost. */
export class FeedReader {
  readonly #world: World;
  readonly #name: string | undefined;
  #ack: string[] = [];

  /** Without a name it is the service itself, which is never forgotten. */
  constructor(world: World, name?: string) {
    this.#world = world;
    this.#name = name;
  }

  /** The events that came; undefined without an answer. */
  async read(max = maxEvents): Promise<readonly string[] | undefined> {
    const { recorder, serviceKey } = this.#world;
    const reader = this.#name;
    const named = reader === undefined ? {} : { reader };
    const body = { ...named, maxEvents: max, returnImmediately: true, ack: this.#ack };
    const headers = { Authorization: basic(serviceKey) };
    const { result } = await ask(this.#world, 'feed', (api) => api.call('readFeed', { headers, body }));
    if (!result) return undefined;
    this.#ack = Object.keys(result.sets);
    if (reader !== undefined) recorder.readings.push({ reader, events: this.#ack });
    return this.#ack;
  }

  /** Reads to the end, once nothing fails any more. */
  async drain(): Promise<readonly string[]> {
    const events: string[] = [];
    for (;;) {
      const read = await this.read();
      if (read?.length === 0) return events;
      events.push(...(read ?? []));
    }
  }
}
