// People who use the service without a pause, while a test does something to its nodes.

import type { TokenSet } from '@latchkey/contract/tokens';

export interface Load {
  /** How many requests succeeded. */
  succeeded(): number;
  /** Every answer that was not a success, and every request without an answer. */
  readonly failures: readonly string[];
  /** Resolves when the last request is answered. */
  stop(): Promise<void>;
}

/** Lets each of these logins read its account and refresh its tokens in turn, with requests that may be repeated. */
export function startLoad(url: string, logins: readonly TokenSet[]): Load {
  const failures: string[] = [];
  let succeeded = 0;
  let isRunning = true;

  const send = async (method: string, path: string, init: RequestInit): Promise<TokenSet | undefined> => {
    const name = `${method} ${path}`;
    try {
      const answer = await fetch(`${url}/api/v1/auth${path}`, { ...init, method });
      const text = await answer.text();
      if (answer.status === 200) {
        succeeded++;
        return JSON.parse(text) as TokenSet;
      }
      failures.push(`${name}: ${answer.status} ${text}`);
    } catch (error) {
      failures.push(`${name}: ${error}`);
    }
    return undefined;
  };

  const use = async ({ access_token, refresh_token }: TokenSet): Promise<void> => {
    let tokens = { access_token, refresh_token };
    while (isRunning) {
      await send('GET', '/me', { headers: { Authorization: `Bearer ${tokens.access_token}` } });
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': crypto.randomUUID() };
      const body = JSON.stringify({ refresh_token: tokens.refresh_token });
      tokens = (await send('POST', '/refresh', { headers, body })) ?? tokens;
    }
  };

  const users = logins.map(use);
  return {
    succeeded: () => succeeded,
    failures,
    stop: async () => {
      isRunning = false;
      await Promise.all(users);
    },
  };
}
