// What tests do with a service, in this process or at a URL. Sign-ins that must succeed go through the SDK, the service's first user;
// `ask` sends raw requests, for what the service must refuse.

import type { Api } from '@latchkey/client/api';
import type { Body } from '@latchkey/client/operations';
import { type TokenSet, tokenSet } from '@latchkey/contract/tokens';
import type { Answer, Ask } from './ask.ts';

export interface Service {
  readonly url: string;
  /** Sends one raw request. A path with a leading slash is below /api/v1/auth; any other path starts at the root. */
  ask(method: string, path: string, sent?: Ask): Promise<Answer>;
  /** The SDK, as a client of this service. Its calls throw a `LatchkeyError` if they are refused. */
  readonly api: Api;
  /** Requests a sign-in mail; returns the token of its link. */
  linkTokenFor(email: string): Promise<string>;
}

/** The tokens of a person, as far as a request needs them. */
export type Access = Pick<TokenSet, 'access_token'>;

export type Driver = ReturnType<typeof driverOf>;

export const driverOf = (service: Service) => ({
  ...service,
  /** Signs in by mail. */
  login: async (email = 'ada@example.com'): Promise<TokenSet> => {
    const token = await service.linkTokenFor(email);
    return tokenSet.parse(await service.api.call('verifyMagicLink', { body: { token } }));
  },
  /** Signs a program in by the device flow. `approver`: the tokens of a recent sign-in in a browser. */
  deviceLogin: async (
    { access_token: accessToken }: Access,
    body: Body<'startDeviceAuthorization'> = {},
  ): Promise<TokenSet> => {
    const { device_code, user_code } = await service.api.call('startDeviceAuthorization', { body });
    await service.api.call('approveDevice', { accessToken, body: { user_code } });
    return tokenSet.parse(await service.api.call('issueToken', { body: { device_code } }));
  },
});
