// Device sign-ins as raw requests, for what the service must refuse.

import type { Answer, Ask } from './ask.ts';
import type { Access, Service } from './driver.ts';

export interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

export type Decision = 'verify' | 'approve' | 'deny';

/** Starts a device sign-in; `json` says what for. */
export const startDevice = async (service: Service, json?: object, ask: Ask = {}): Promise<DeviceCodes> =>
  (await service.ask('POST', '/device', json ? { ...ask, json } : ask)).body;

/** Looks at a device sign-in, or decides it, as this user. */
export const decideDevice = (
  service: Service,
  decision: Decision,
  { user_code }: Pick<DeviceCodes, 'user_code'>,
  { access_token: token }: Access,
  ask: Ask = {},
): Promise<Answer> => service.ask('POST', `/device/${decision}`, { ...ask, json: { user_code }, token });

/** Asks for the tokens of a device sign-in. */
export const pollDevice = (
  service: Service,
  { device_code }: Pick<DeviceCodes, 'device_code'>,
  headers: Record<string, string> = {},
): Promise<Answer> => service.ask('POST', '/token', { json: { device_code }, headers });

/** Cancels a device sign-in, as the device does. */
export const cancelDevice = (
  service: Service,
  { device_code: token }: Pick<DeviceCodes, 'device_code'>,
): Promise<Answer> => service.ask('POST', '/revoke', { form: { token } });
