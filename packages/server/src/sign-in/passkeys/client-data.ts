import { z } from 'zod';
import { ceremonyRefused } from './challenge.ts';

const collectedClientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

const challengeOnly = collectedClientData.pick({ challenge: true });

/** What the browser says of the page that asked. @see WebAuthn Level 3 section 5.8.1 */
export type ClientData = z.infer<typeof collectedClientData>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads base64url that has exactly one spelling.
 * @throws {AuthError} `invalid_grant`
 */
export function readBase64url(text: string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw ceremonyRefused('base64url');
  return new Uint8Array(bytes);
}

const parseClientData = (encoded: string): unknown =>
  JSON.parse(utf8.decode(new Uint8Array(Buffer.from(encoded, 'base64url'))));

/**
 * The challenge that client data answers to, whatever else is wrong with it: it is known before anything that
 * can fail, so that what fails spends it.
 * @throws {AuthError} `invalid_grant` where there is none
 */
export function readChallengeOf(encoded: string): string {
  try {
    return challengeOnly.parse(parseClientData(encoded)).challenge;
  } catch (error) {
    throw ceremonyRefused('client_data', error);
  }
}

/**
 * Reads the client data of either ceremony.
 * @throws {AuthError} `invalid_grant`
 */
export function readClientData(encoded: string): ClientData {
  readBase64url(encoded);
  try {
    return collectedClientData.parse(parseClientData(encoded));
  } catch (error) {
    throw ceremonyRefused('client_data', error);
  }
}

/**
 * Refuses client data of another kind of ceremony, from another site's page, or from a page inside another
 * site's frame: that one could not see what it agrees to.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 sections 7.1 and 7.2
 */
export function checkClientData(
  clientData: ClientData,
  expected: { type: 'webauthn.create' | 'webauthn.get'; origins: readonly string[] },
): void {
  if (clientData.type !== expected.type) throw ceremonyRefused('type');
  if (!expected.origins.includes(clientData.origin)) throw ceremonyRefused('origin');
  if (clientData.crossOrigin === true || clientData.topOrigin !== undefined) {
    throw ceremonyRefused('cross_origin');
  }
}
