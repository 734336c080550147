// Device sign-ins as raw requests, for what the service must refuse.

import type { Answer, Ask, TestApp, Tokens } from './app.ts';

export interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
}

export type Decision = 'verify' | 'approve' | 'deny';

/** Starts a device sign-in; `json` says what for. */
export const startDevice = async (app: TestApp, json?: object, ask: Ask = {}): Promise<DeviceCodes> =>
  (await app.ask('POST', '/device', json ? { ...ask, json } : ask)).body;

/** Looks at a device sign-in, or decides it, as this user. */
export const decideDevice = (
  app: TestApp,
  decision: Decision,
  { user_code }: Pick<DeviceCodes, 'user_code'>,
  { access_token: token }: Pick<Tokens, 'access_token'>,
  ask: Ask = {},
): Promise<Answer> => app.ask('POST', `/device/${decision}`, { ...ask, json: { user_code }, token });

/** Asks for the tokens of a device sign-in. */
export const pollDevice = (
  app: TestApp,
  { device_code }: Pick<DeviceCodes, 'device_code'>,
  headers: Record<string, string> = {},
): Promise<Answer> => app.ask('POST', '/token', { json: { device_code }, headers });

/** Cancels a device sign-in, as the device does. */
export const cancelDevice = (
  app: TestApp,
  { device_code: token }: Pick<DeviceCodes, 'device_code'>,
): Promise<Answer> => app.ask('POST', '/revoke', { form: { token } });
