import { asciiDomainOf } from '@latchkey/contract/domains';
// How the values of settings are written. A format knows its syntax as text for people, and parses it.

import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Quota } from '../rate-limits/rules.ts';
import { type LogLevel, logLevels } from '../telemetry/log.ts';
import type { CidrRange } from '../values/client-address.ts';
import { isLoopbackHost } from '../values/loopback.ts';

export interface Format<T> {
  /** Completes the sentence "… must be". */
  readonly syntax: string;
  /** The range of a duration. */
  readonly seconds?: { readonly min: number; readonly max: number };
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

export const seconds = (min: number, max: number): Format<number> => ({
  ...integer(`a whole number of seconds from ${min} to ${max}`, min, max),
  seconds: { min, max },
});

export const count = (max: number): Format<number> => integer(`a whole number from 1 to ${max}`, 1, max);

const maxWorkers = 256;

/** Number of processes, or as many as the machine has cores. */
export const workers: Format<number | 'auto'> = {
  syntax: `a whole number from 1 to ${maxWorkers}, or auto`,
  schema: z.union(
    [z.literal('auto'), count(maxWorkers).schema],
    `must be a whole number from 1 to ${maxWorkers}, or auto`,
  ) as z.ZodType<number | 'auto', string>,
};

export const port: Format<number> = integer('a port number from 1 to 65535', 1, 65_535, 5);

export const onOff: Format<'on' | 'off'> = {
  syntax: 'on or off',
  schema: z.enum(['on', 'off'], 'must be on or off') as z.ZodType<'on' | 'off', string>,
};

export const logLevel: Format<LogLevel> = {
  syntax: 'debug, info, warn or error',
  schema: z.enum(logLevels, 'must be debug, info, warn or error') as z.ZodType<LogLevel, string>,
};

export const anyText: Format<string> = { syntax: 'text', schema: z.string() };

export const databaseUrl = matching(
  'sqlite: followed by the path of a file, or a postgres:// URL',
  /^(sqlite:(?!:memory:).+|postgres(ql)?:\/\/.+)$/,
);

export const postgresUrl = matching('a postgres:// URL', /^postgres(ql)?:\/\/.+$/);

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

const maxUrlLength = 2048;

/** Strict: rejects spaces, control characters and mistakes that URL parsers silently correct. */
function webAddress(text: string): URL | undefined {
  if (text.length > maxUrlLength || !/^https?:\/\/[^\s\\\p{C}]+$/u.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || isLoopbackHost(url.hostname) ? url : undefined;
}

const linkSyntax = `an https:// URL, or an http:// URL with a loopback host, of at most ${maxUrlLength} characters`;

/** An address that pages and mails link to, in the spelling of a URL parser. */
export const link: Format<string> = {
  syntax: linkSyntax,
  schema: z
    .string()
    .refine((text) => webAddress(text) !== undefined, `must be ${linkSyntax}`)
    .transform((text) => webAddress(text)?.href ?? text),
};

/** In characters. Longer names do not fit in the subject of a mail, or in the prompt of a browser. */
const maxNameLength = 40;
const nameSyntax = `1 to ${maxNameLength} visible characters with single spaces`;

export const displayName: Format<string> = {
  syntax: nameSyntax,
  schema: z
    .string()
    .trim()
    .refine(
      (text) => text !== '' && [...text].length <= maxNameLength && escapeInvisible(text) === text,
      `must be ${nameSyntax}`,
    ),
};

export const imageFile = matching('the path of an .svg or .png file', /\.(svg|png)$/i);

export const smtpUrl = matching(
  'an smtp:// or smtps:// URL without a query',
  // The SMTP library would read options from the query, among them those that turn off TLS.
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

/** As the domains of email addresses are compared; unchanged if it is not a domain, which is refused later. */
const asDomainKey = (domain: string): string => asciiDomainOf(domain) ?? domain;

const emailDomain = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;
const signupSyntax = 'open, closed or a comma-separated list of email domains';

export const signupPolicy: Format<'open' | 'closed' | string[]> = {
  syntax: signupSyntax,
  schema: z
    .string()
    .transform((text) => (text === 'open' || text === 'closed' ? text : list(text).map(asDomainKey)))
    .refine(
      (value) =>
        typeof value === 'string' || (value.length > 0 && value.every((entry) => emailDomain.test(entry))),
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

/** A host as URLs spell it, with a port where that is not the one of the scheme. */
function isHost(text: string): boolean {
  const [, name = '', port = '443'] = /^(\[[^\]]*\]|[^:]*)(?::([1-9]\d{0,4}))?$/.exec(text) ?? [];
  const url = URL.parse(`https://${name}:${port}/`);
  return name !== '' && !name.includes('*') && url?.hostname === name && url.pathname === '/';
}

const hostsSyntax =
  'a comma-separated list of hosts in lower case, each with a port if it is not the usual one, like app.example.com';

export const hosts: Format<string[]> = {
  syntax: hostsSyntax,
  schema: z
    .string()
    .transform(list)
    .refine((entries) => entries.every(isHost), `must be ${hostsSyntax}`),
};

/** Short names of issuers. */
const issuerAliases: Readonly<Record<string, string>> = {
  github: 'https://token.actions.githubusercontent.com',
  gitlab: 'https://gitlab.com',
};

/** Spelled as URLs are, since issuers are compared as text, but with or without a slash at its end. */
function isIssuer(text: string): boolean {
  const url = webAddress(text);
  return url !== undefined && !/[?#]/.test(text) && [text, `${text}/`].includes(url.href);
}

const issuersSyntax =
  'a comma-separated list of https:// URLs without a query, or http:// URLs with a loopback host; github and gitlab stand for theirs';

export const issuers: Format<string[]> = {
  syntax: issuersSyntax,
  schema: z
    .string()
    .transform((text) => list(text).map((entry) => issuerAliases[entry] ?? entry))
    .refine((entries) => entries.every(isIssuer), `must be ${issuersSyntax}`),
};

const maxAudienceLength = 2048;
const audiencesSyntax = `a comma-separated list of audiences of visible ASCII characters, each at most ${maxAudienceLength} characters long`;

export const audiences: Format<string[]> = {
  syntax: audiencesSyntax,
  schema: z
    .string()
    .transform(list)
    .refine(
      (entries) =>
        entries.every((entry) => /^[\x21-\x7e]+$/.test(entry) && entry.length <= maxAudienceLength),
      `must be ${audiencesSyntax}`,
    ),
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

export const maxQuota = 1_000_000;
/** Far longer than the clocks of two nodes may differ. */
export const minWindowSeconds = 10;
export const maxWindowSeconds = 86_400;

const rateLimitsSyntax =
  'on, off, or a comma-separated list of name=quota/seconds, like runs=2400/60, which may start with off';

/** Whether rate limits apply, and quotas by their names. Whether these exist is checked by `readConfigOf`. */
export const rateLimits: Format<{
  readonly enabled: boolean;
  readonly quotas: ReadonlyMap<string, Quota>;
}> = {
  syntax: rateLimitsSyntax,
  schema: z.string().transform((text, ctx) => {
    const [first = '', ...others] = list(text);
    const isSwitch = first === 'on' || first === 'off';
    const quotas = (isSwitch ? others : [first, ...others]).map((entry) => {
      const [, name, quota, windowSeconds] = /^([a-z_]+)=(\d{1,7})\/(\d{1,5})$/.exec(entry) ?? [];
      return [name ?? '', { quota: Number(quota), windowSeconds: Number(windowSeconds) }] as const;
    });
    const refuse = (message: string) => {
      ctx.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (quotas.some(([name]) => name === '')) return refuse(`must be ${rateLimitsSyntax}`);
    if (quotas.some(([, { quota }]) => quota < 1 || quota > maxQuota))
      return refuse(`must have quotas from 1 to ${maxQuota}`);
    if (quotas.some(([, { windowSeconds: s }]) => s < minWindowSeconds || s > maxWindowSeconds))
      return refuse(`must have windows of ${minWindowSeconds} to ${maxWindowSeconds} seconds`);
    return { enabled: first !== 'off', quotas: new Map(quotas) };
  }),
};
