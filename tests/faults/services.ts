// Services of the platform: they verify tokens with the feed, and read it.

import { operations } from '@latchkey/client/operations';
import type { FeedAnswer } from '@latchkey/contract/feed';
import { createVerifier, type Verifier } from '../../packages/client/src/verify.ts';
import { basic } from '../support/services.ts';
import { anyAddress, anyNode, apiOf, type World } from './world.ts';

const maxEvents = 500;

/** A verifier for each node, which reads the feed there. A failure to read it is one of the faults. */
export const verifiersFor = ({ site, serviceKey }: World): Verifier[] =>
  site.nodes.map(({ url }) =>
    createVerifier({ server: url, serviceKey, feed: true, onFeedError: () => undefined }),
  );

/** Lets a service verify what ended lately, and some tokens that did not end. */
export async function verifyAtService(
  { recorder: { sessions }, random }: World,
  verifier: Verifier,
  name: string,
): Promise<void> {
  const tokens = new Set([...sessions.ended(), ...sessions.some(random, 3)]);
  await Promise.all(
    [...tokens].map(async ({ id, text }) => {
      const verification = { by: 'service', name, token: id, sentAt: sessions.now() } as const;
      const outcome = await verifier.verify(text).then(
        ({ active }) => (active ? 'accepted' : 'refused'),
        () => 'unknown' as const,
      );
      sessions.verified(verification, outcome);
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
    const { recorder, random, serviceKey } = this.#world;
    const reader = this.#name;
    const { result } = await recorder.see('feed', () =>
      apiOf(anyNode(this.#world), anyAddress(random)).send(operations.readFeed.path, {
        method: 'POST',
        headers: { Authorization: basic(serviceKey), 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ...(reader === undefined ? {} : { reader }),
          maxEvents: max,
          returnImmediately: true,
          ack: this.#ack,
        }),
      }),
    );
    if (!result) return undefined;
    this.#ack = Object.keys((result.body as FeedAnswer).sets);
    if (reader !== undefined) recorder.sessions.read({ reader, events: this.#ack });
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
