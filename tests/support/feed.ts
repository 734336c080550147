// Services that read the feed.

import type { FeedAnswer } from '@latchkey/contract/feed';
import type { ServiceRight } from '@latchkey/contract/scopes';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import type { Answer, TestApp } from './app.ts';
import { declareService } from './services.ts';

export type FeedService = Awaited<ReturnType<typeof feedService>>;

/** An event as its service sees it, verified. */
export type ReceivedEvent = Awaited<ReturnType<typeof eventsOf>>[number];

/** A new service that may read the feed, and has these other rights. */
export async function feedService(t: TestApp, ...rights: ServiceRight[]) {
  const { id, authorization } = await declareService(t.ctx, { name: 'Reader', rights: ['feed', ...rights] });
  const ask = (json?: unknown, node = t): Promise<Answer> =>
    node.ask('POST', '/feed', { headers: { Authorization: authorization }, ...(json ? { json } : {}) });
  /** Reads all events that are there, without waiting, and acknowledges them. */
  const read = async (reader?: string, node = t): Promise<ReceivedEvent[]> => {
    const received: ReceivedEvent[] = [];
    for (let ack: string[] = []; ; ) {
      const { body, status } = await ask({ returnImmediately: true, ack, ...(reader && { reader }) }, node);
      if (status !== 200) throw new Error(`the feed answered ${status}: ${JSON.stringify(body)}`);
      ack = Object.keys(body.sets);
      if (ack.length === 0) return received;
      received.push(...(await eventsOf(t, id, body)));
    }
  };
  return { authorization, id, ask, read };
}

/** Verifies the events of an answer with a library that knows nothing of Latchkey, in their order. */
export async function eventsOf(t: TestApp, audience: string, { sets }: FeedAnswer) {
  const keys = createLocalJWKSet((await t.ask('GET', '.well-known/jwks.json')).body as JSONWebKeySet);
  return Promise.all(
    Object.entries(sets).map(async ([jti, set]) => {
      const { payload: claims } = await jwtVerify(set, keys, {
        typ: 'secevent+jwt',
        issuer: t.ctx.config.baseUrl,
        audience,
        // Tests advance the clock of the service.
        currentDate: new Date(t.ctx.clock()),
      });
      if (claims.jti !== jti) throw new Error(`the event ${claims.jti} is listed as ${jti}`);
      const [[uri = '', payload = {}] = [], ...others] = Object.entries(
        claims['events'] as Record<string, Record<string, unknown>>,
      );
      if (others.length > 0) throw new Error('a token has more than one event');
      // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary subjects
      const subject = claims['sub_id'] as any;
      // Its type is the last part of its URI.
      return { type: uri.split('/').at(-1)!, uri, jti, payload, subject, claims };
    }),
  );
}
