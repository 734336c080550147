// The requests of clients to random nodes, each from an address of its own choice.

import type { Api, CallInput } from '@latchkey/client/api';
import type { Answer, OperationId } from '@latchkey/client/operations';
import type { Random } from '#support/random.ts';
import { mailIdOf } from './mails.ts';
import { apiOf } from './node.ts';
import type { LiveToken, Recorder, Seen } from './recorder.ts';
import type { Site } from './site.ts';

export interface World {
  readonly site: Site;
  readonly recorder: Recorder;
  readonly random: Random;
  /** `id:secret` of a service that may read the feed. */
  readonly serviceKey: string;
  /** Whether clients shall begin nothing more. */
  isOver: boolean;
}

/** What a request to a node came to. */
export interface Asked<T> extends Seen<T> {
  /** The name of the node. */
  readonly node: string;
  /** Names the time in which the node kept its budgets; undefined if that ended meanwhile. */
  readonly budgetEpoch: number | undefined;
}

/** An address in a network of its own. */
export const anyAddress = ({ below }: Random): string => `10.${below(256)}.${below(256)}.1`;

/** Sends a request to a random node. */
export async function ask<T>(
  { site, recorder, random }: World,
  kind: string,
  send: (api: Api) => Promise<T>,
  address = anyAddress(random),
): Promise<Asked<T>> {
  const node = random.pick(site.nodes);
  const epoch = node.budgetEpoch();
  const seen = await recorder.see(kind, () => send(apiOf(node, address)));
  return { ...seen, node: node.name, budgetEpoch: epoch === node.budgetEpoch() ? epoch : undefined };
}

/** Calls an operation with an access token, and records whether the node accepts that. */
export async function askWith<Id extends OperationId>(
  world: World,
  { session, text: accessToken }: LiveToken,
  kind: string,
  id: Id,
  input: CallInput<Id> = {},
  address?: string,
): Promise<Asked<Answer<Id>>> {
  const asked = await ask(world, kind, (api) => api.call(id, { ...input, accessToken }), address);
  const isAccepted = asked.outcome === 'done';
  if (isAccepted || asked.code === 'invalid_token') world.recorder.verified(session, asked, isAccepted);
  return asked;
}

/** Requests an email, and records that it was promised. */
export async function requestMail(world: World, email: string, address?: string) {
  const send = (api: Api) => api.call('requestMagicLink', { body: { email } });
  const asked = await ask(world, 'email request', send, address);
  const { result, sentAt } = asked;
  const id = result && mailIdOf(result.request);
  if (id !== undefined) world.recorder.promisedMails.push({ id, address: email, sentAt });
  return { ...asked, id };
}
