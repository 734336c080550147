// How the values of settings are written. A format knows its syntax as text for people, and parses it.

import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Quota } from '../rate-limits/rules.ts';
import type { CidrRange } from '../values/client-address.ts';

export interface Format<T> {
  /** Completes the sentence "… must be". */
  readonly syntax: string;
  readonly schema: z.ZodType<T, string>;
}

const matching = (syntax: string, accepts: RegExp | ((text: string) => boolean)): Format<string> => ({
  syntax,
  schema: z
    .string()
    .refine((text) => (accepts instanceof RegExp ? accepts.test(text) : accepts(text)), `must be ${syntax}`),
});

const integer = (syntax: string, min: number, max: number, maxDigits = 9): Format<number> => ({
  syntax,
  schema: z
    .string()
    .regex(new RegExp(`^\\d{1,${maxDigits}}$`), `must be ${syntax}`)
    .transform(Number)
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`)),
});

export const seconds = (min: number, max: number): Format<number> =>
  integer(`a whole number of seconds from ${min} to ${max}`, min, max);

export const count = (max: number): Format<number> => integer(`a whole number from 1 to ${max}`, 1, max);

export const port: Format<number> = integer('a port number from 1 to 65535', 1, 65_535, 5);

export const onOff: Format<'on' | 'off'> = {
  syntax: 'on or off',
  schema: z.enum(['on', 'off'], 'must be on or off') as z.ZodType<'on' | 'off', string>,
};

export const anyText: Format<string> = { syntax: 'text', schema: z.string() };

export const databaseUrl = matching(
  'sqlite: followed by the path of a file, or a postgres:// URL',
  /^(sqlite:(?!:memory:).+|postgres(ql)?:\/\/.+)$/,
);

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    !url.hostname.includes('*') &&
    url.origin === text.replace(/\/$/, '').toLowerCase()
  );
}

export const origin = matching('an http:// or https:// URL without a path', isOrigin);

export const smtpUrl = matching(
  'an smtp:// or smtps:// URL without a query',
  // The mail library would read options from the query, among them those that turn off TLS.
  (text) => /^smtps?:\/\/./.test(text) && !!URL.parse(text)?.hostname && !/[?#]/.test(text),
);

export const mailSender = matching(
  'an email address, like a@example.com or Name <a@example.com>',
  /^([^<>\r\n]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/,
);

export const bearerToken = matching(
  '16 to 256 printable ASCII characters without spaces',
  /^[\x21-\x7e]{16,256}$/,
);

const list = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

const mailDomain = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;
const signupSyntax = 'open, closed or a comma-separated list of mail domains';

export const signupPolicy: Format<'open' | 'closed' | string[]> = {
  syntax: signupSyntax,
  schema: z
    .string()
    .transform((text) => (text === 'open' || text === 'closed' ? text : list(text.toLowerCase())))
    .refine(
      (value) =>
        typeof value === 'string' || (value.length > 0 && value.every((entry) => mailDomain.test(entry))),
      `must be ${signupSyntax}`,
    ),
};

const originsSyntax = 'a comma-separated list of origins, like https://a.example.com';

export const origins: Format<string[]> = {
  syntax: originsSyntax,
  schema: z
    .string()
    .transform((text) => list(text).map((entry) => entry.replace(/\/$/, '').toLowerCase()))
    .refine((entries) => entries.every(isOrigin), `must be ${originsSyntax}`),
};

const rangesSyntax = 'a comma-separated list of IP addresses or CIDR ranges';

export const addressRanges: Format<CidrRange[]> = {
  syntax: rangesSyntax,
  schema: z.string().transform((text, ctx) => {
    try {
      return list(text).map(parseRange);
    } catch {
      ctx.addIssue({ code: 'custom', message: `must be ${rangesSyntax}` });
      return z.NEVER;
    }
  }),
};

function parseRange(text: string): CidrRange {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) throw new Error('not an address');
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

const maxQuota = 1_000_000;
/** Far longer than the clocks of two nodes may differ. */
const minWindowSeconds = 10;
const maxWindowSeconds = 86_400;

export const rateLimitQuota: Format<Quota> = {
  syntax: 'quota/seconds, like 5/900',
  schema: z
    .string()
    .regex(/^\d{1,7}\/\d{1,5}$/, 'must be quota/seconds, like 5/900')
    .transform((text): Quota => {
      const [quota, windowSeconds] = text.split('/').map(Number);
      return { quota: quota!, windowSeconds: windowSeconds! };
    })
    .refine(({ quota }) => quota >= 1 && quota <= maxQuota, `must have a quota from 1 to ${maxQuota}`)
    .refine(
      ({ windowSeconds }) => windowSeconds >= minWindowSeconds && windowSeconds <= maxWindowSeconds,
      `must have a window of ${minWindowSeconds} to ${maxWindowSeconds} seconds`,
    ),
};
