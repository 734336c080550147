import type { IssuedToken } from '@latchkey/contract/tokens';
import { sharedWork } from './shared-work.ts';

/** A new token is requested when this much of the lifetime of the last one is left, or half of it if that is less. */
const renewBeforeMs = 60_000;

/** Keeps a token from its first use on. It is shared by all callers, and renewed once for all of them. */
export function keepToken(
  request: (signal: AbortSignal) => Promise<IssuedToken>,
  now: () => number = Date.now,
) {
  let current: { readonly token: string; readonly renewAt: number } | undefined;

  const requestOnce = sharedWork(async (_, signal) => {
    const requestedAt = now();
    const { access_token, expires_in } = await request(signal);
    const lifetime = expires_in * 1000;
    const renewAt = requestedAt + lifetime - Math.min(renewBeforeMs, lifetime / 2);
    current = { token: access_token, renewAt };
    return access_token;
  });
  const next = (signal: AbortSignal | undefined): Promise<string> => requestOnce('token', signal);

  return {
    accessToken: async (signal?: AbortSignal): Promise<string> =>
      current && now() < current.renewAt ? current.token : next(signal),
    /** Another token than the one that was rejected. */
    renew: async (rejected: string, signal?: AbortSignal): Promise<string> =>
      current && current.token !== rejected ? current.token : next(signal),
    isCurrent: (token: string): boolean => current?.token === token,
    forget: (): void => {
      current = undefined;
    },
  };
}
