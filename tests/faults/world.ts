// The requests of clients to random nodes, each from an address of its own choice.

import { type Api, createApi } from '@latchkey/client/api';
import type { Random } from '../support/random.ts';
import type { FaultRecorder } from './recorder.ts';
import type { FaultNode, Site } from './site.ts';

export interface World {
  readonly site: Site;
  readonly recorder: FaultRecorder;
  readonly random: Random;
  /** `id:secret` of a service that may read the feed. */
  readonly serviceKey: string;
  /** Whether clients shall begin nothing more. */
  isOver(): boolean;
}

const requestTimeoutMs = 6_000;

/** An address in a network of its own. */
export const anyAddress = ({ below }: Random): string => `10.${below(256)}.${below(256)}.1`;

export const anyNode = ({ site, random }: World): FaultNode => random.pick(site.nodes);

/**
 * The SDK against a node, from this address. Every request has a connection of its own: over one that was kept, the
 * runtime may send a request a second time without saying so.
 */
export const apiOf = (node: FaultNode, address: string): Api =>
  createApi({
    server: node.url,
    timeoutMs: requestTimeoutMs,
    fetch: (url, init) => {
      const headers = new Headers(init.headers);
      headers.set('X-Forwarded-For', address);
      return fetch(url, { ...init, headers, keepalive: false });
    },
  });
