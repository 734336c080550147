import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { inTime } from './clock.ts';
import { LatchkeyError } from './errors.ts';
import { revokeToken } from './revoke-token.ts';
import type { Session } from './session.ts';
import { exchangeToken } from './token-exchange.ts';

/** What a token allows. */
export interface Access {
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
}

/** How long a token of an agent may live. @internal */
export const agentLifetimeSeconds = { min: 60, max: 900 };
/** Of the 1,000 that a login may have, so that some are left for its person and for other agents. */
const maxLiveRuns = 900;
/** For the server to end one run. */
const stopMs = 5_000;

/** The runs that an agent has made, and that end with it. */
export function createRuns({ api, session }: { readonly api: Api; readonly session: Session }) {
  const issued = new Map<string, number>();
  const pending = new Set<Promise<unknown>>();
  let isStopping = false;

  const make = async ({ scopes, resource }: Access, expiresInSeconds: number): Promise<IssuedToken> => {
    if (isStopping) throw new LatchkeyError('temporarily_unavailable', 'The agent is stopping.');
    for (const [one, expiresAt] of issued) if (expiresAt < Date.now()) issued.delete(one);
    if (issued.size + pending.size >= maxLiveRuns)
      throw new LatchkeyError('rate_limited', `The agent has ${maxLiveRuns} tokens that have not expired.`);
    const made = exchangeToken({ api, session, scope: scopes.join(' '), resource, expiresInSeconds });
    pending.add(made);
    const token = await made.finally(() => pending.delete(made));
    issued.set(token.access_token, Date.now() + token.expires_in * 1000);
    return token;
  };
  const end = async (token: string): Promise<void> => {
    await revokeToken(api, token, stopMs);
    issued.delete(token);
  };
  return {
    make,
    end,
    /** @throws {LatchkeyError} `invalid_scope`, `invalid_target` for what the service would refuse */
    requirePossible: async (access: Access): Promise<void> => {
      const { access_token } = await make(access, agentLifetimeSeconds.min);
      await end(access_token);
    },
    /** Makes no more runs, and ends all. False if the server did not confirm that for each. */
    stop: async (): Promise<boolean> => {
      isStopping = true;
      // A token that is on its way would otherwise outlive the agent.
      await inTime(Promise.allSettled(pending), stopMs, () => new Error('late')).catch(() => {});
      const ended = await Promise.allSettled([...issued.keys()].map(end));
      return ended.every(({ status }) => status === 'fulfilled');
    },
  };
}
