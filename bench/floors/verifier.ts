// The least verifier that keeps the promises of one with the feed: it refuses what is no token, holds no token in memory but a
// hash, and uses an answer only until it expires. It does not follow the feed, and drops no answer that is not used.

import { createHash } from 'node:crypto';
import type { ActiveToken, Verification } from '../../packages/client/src/active-token.ts';

const maxTokenLength = 1024;
const maxAgeMs = 300_000;

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64');

export class FloorVerifier {
  readonly #answers = new Map<string, { readonly token: ActiveToken; readonly until: number }>();

  keep(accessToken: string, token: ActiveToken): void {
    this.#answers.set(hashOf(accessToken), { token, until: performance.now() + maxAgeMs });
  }

  async verify(accessToken: string): Promise<Verification> {
    if (!/^lk_a[tk]_[\w-]+$/.test(accessToken) || accessToken.length > maxTokenLength)
      return { active: false };
    const answer = this.#answers.get(hashOf(accessToken));
    if (!answer || performance.now() >= answer.until || Date.now() >= answer.token.exp * 1000)
      throw new Error('no answer is kept');
    return answer.token;
  }
}
