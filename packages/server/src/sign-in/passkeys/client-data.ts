import { z } from 'zod';
import type { Config } from '../../platform/config/config.ts';
import { ceremonyRefused } from './challenge.ts';

const collectedClientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

const challengeOnly = collectedClientData.pick({ challenge: true });

/** Decoded client data of which only the challenge has been checked, and only its type. */
type UnverifiedClientData = ReturnType<typeof parseClientData>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The origins whose pages may take part in ceremonies. */
export const expectedOrigins = (config: Config): string[] => [config.baseUrl, ...config.allowedOrigins];

/**
 * Decodes base64url and accepts only its canonical encoding.
 * @throws {AuthError} `invalid_grant`
 */
export function readBase64url(text: string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw ceremonyRefused('base64url');
  return new Uint8Array(bytes);
}

/**
 * Decodes client data and finds its challenge, before anything else about it can be refused: a refused ceremony has to
 * spend its challenge.
 * @throws {AuthError} `invalid_grant` when it has no challenge
 */
export function parseClientData(encoded: string) {
  try {
    const members: unknown = JSON.parse(utf8.decode(new Uint8Array(Buffer.from(encoded, 'base64url'))));
    return { challenge: challengeOnly.parse(members).challenge, members, encoded };
  } catch (error) {
    throw ceremonyRefused('client_data', error);
  }
}

/**
 * Refuses client data that is malformed, of the other ceremony, from a foreign origin, or from a page framed by another
 * site: there, the user cannot see what they agree to.
 * @throws {AuthError} `invalid_grant`
 * @see WebAuthn Level 3 sections 7.1 and 7.2
 */
export function verifyClientData(
  config: Config,
  { members, encoded }: UnverifiedClientData,
  type: 'webauthn.create' | 'webauthn.get',
): void {
  readBase64url(encoded);
  const { data, error } = collectedClientData.safeParse(members);
  if (!data) throw ceremonyRefused('client_data', error);
  if (data.type !== type) throw ceremonyRefused('type');
  if (!expectedOrigins(config).includes(data.origin)) throw ceremonyRefused('origin');
  if (data.crossOrigin === true || data.topOrigin !== undefined) throw ceremonyRefused('cross_origin');
}
