// How the values of settings are written. A format knows its syntax as text for people, and parses it.

import { asciiDomainOf } from '@latchkey/contract/domains';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import ipaddr from 'ipaddr.js';
import { postgresServers } from '../database/postgres-primary.ts';
import type { Quota } from '../rate-limits/limiter.ts';
import { logLevels } from '../telemetry/log.ts';
import type { CidrRange } from '../values/client-address.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { parseDocumentUrl } from '../values/redirect-uri.ts';

export interface Format<T> {
  /** Completes the sentence "… must be". */
  readonly syntax: string;
  /** The range of a duration. */
  readonly seconds?: { readonly min: number; readonly max: number };
  /** Undefined for a text that does not have the format. */
  readonly parse: (text: string) => T | undefined;
}

const matching = (syntax: string, pattern: RegExp): Format<string> => ({
  syntax,
  parse: (text) => (pattern.test(text) ? text : undefined),
});

export const oneOf = <Word extends string>(...words: readonly Word[]): Format<Word> => ({
  syntax: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
  parse: (text) => words.find((word) => word === text),
});

const integer = (syntax: string, min: number, max: number): Format<number> => ({
  syntax: `${syntax} from ${min} to ${max}`,
  parse: (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  },
});

export const seconds = (min: number, max: number): Format<number> => ({
  ...integer('a whole number of seconds', min, max),
  seconds: { min, max },
});

/** 0 is any free port. */
export const port = integer('a port number', 0, 65_535);
export const onOff: Format<boolean> = {
  syntax: 'on or off',
  parse: (text) => (text === 'on' || text === 'off' ? text === 'on' : undefined),
};
export const logLevel = oneOf(...logLevels);

/** A text that is checked where its meaning is known. */
export const anyText = (syntax: string): Format<string> => ({ syntax, parse: (text) => text });

const isPostgresUrl = (text: string): boolean =>
  /^postgres(ql)?:\/\/./.test(text) && postgresServers(text).every((server) => URL.canParse(server));

export const databaseUrl: Format<string> = {
  syntax: 'sqlite: followed by the path of a file, or a postgres:// URL',
  parse: (text) => (/^sqlite:(?!(\/\/)?(:memory:|$))./.test(text) || isPostgresUrl(text) ? text : undefined),
};

export const postgresUrl: Format<string> = {
  syntax: 'a postgres:// URL',
  parse: (text) => (isPostgresUrl(text) ? text : undefined),
};

/** URL parsers accept names that no host can have, with an empty label or one that begins or ends with a hyphen. */
const hasHost = ({ hostname }: URL): boolean =>
  /^(\[.+\]|\w([\w-]*\w)?(\.\w([\w-]*\w)?)*\.?)$/.test(hostname);

/** The spelling of an origin that browsers send. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const withPort = text.replace(/\/$/, '').toLowerCase();
  // The parser drops the default port of the scheme.
  const origin = url?.port === '' ? withPort.replace(/:(80|443)$/, '') : withPort;
  const isOrigin = url && /^https?:$/.test(url.protocol) && hasHost(url);
  return isOrigin && url.origin === origin ? origin : undefined;
}

export const origin: Format<string> = {
  syntax: 'an http:// or https:// URL without a path',
  parse: originOf,
};

const maxUrlLength = 2048;

/** Strict: rejects spaces, control characters and mistakes that URL parsers silently correct. */
function webAddress(text: string): URL | undefined {
  if (text.length > maxUrlLength || !/^https?:\/\/[^\s\\\p{C}]+$/u.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || !hasHost(url)) return undefined;
  return url.protocol === 'https:' || isLoopbackHost(url.hostname) ? url : undefined;
}

/** An address that pages and mails link to, in the spelling of a URL parser. */
export const link: Format<string> = {
  syntax: `an https:// URL, or an http:// URL with a loopback host, of at most ${maxUrlLength} characters`,
  parse: (text) => webAddress(text)?.href,
};

/** In characters. Longer names do not fit in the subject of a mail, or in the prompt of a browser. */
const maxNameLength = 40;

export const displayName: Format<string> = {
  syntax: `1 to ${maxNameLength} visible characters with single spaces`,
  parse: (text) => {
    const name = text.trim();
    return [...name].length <= maxNameLength && escapeInvisible(name) === name ? name : undefined;
  },
};

export const imageFile = matching('the path of an .svg or .png file', /\.(svg|png)$/i);

export const smtpUrl: Format<string> = {
  syntax: 'an smtp:// or smtps:// URL without path and query',
  // The SMTP library would read options from the query, among them those that turn off TLS.
  parse: (text) => {
    const url = /^smtps?:\/\/[^?#]+$/.test(text) ? URL.parse(text) : null;
    return url?.hostname && url.port !== '0' && /^\/?$/.test(url.pathname) ? text : undefined;
  },
};

export const mailSender = matching(
  'an email address, like a@example.com or Name <a@example.com>',
  /^([^<>\r\n]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/,
);

export const bearerToken = matching(
  '16 to 256 printable ASCII characters without spaces',
  /^[\x21-\x7e]{16,256}$/,
);

/** A comma-separated list, of which every entry must be valid. Only an empty text has none. */
const listOf = <T>(entries: string, parseEntry: (entry: string) => T | undefined): Format<T[]> => ({
  syntax: `a comma-separated list of ${entries}`,
  parse: (text) => {
    const all = splitList(text).map(parseEntry);
    const isValid = all.length > 0 || text === '';
    return isValid && all.every((entry) => entry !== undefined) ? all : undefined;
  },
});

const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** As the domains of email addresses are compared. */
const emailDomains = listOf('email domains', (domain) => {
  const key = asciiDomainOf(domain);
  return key !== undefined && /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(key) ? key : undefined;
});

export const signupPolicy: Format<'open' | 'closed' | string[]> = {
  syntax: `open, closed or ${emailDomains.syntax}`,
  parse: (text) => {
    if (text === 'open' || text === 'closed') return text;
    return emailDomains.parse(text);
  },
};

export const origins = listOf('origins, like https://a.example.com', originOf);

/** A host as URLs spell it, with a port where that is not the one of the scheme. */
function hostOf(text: string): string | undefined {
  const [, name = '', port = '443'] = /^(\[[^\]]*\]|[^:]*)(?::([1-9]\d{0,4}))?$/.exec(text) ?? [];
  const url = URL.parse(`https://${name}:${port}/`);
  return url?.hostname === name && url.pathname === '/' && hasHost(url) ? text : undefined;
}

/** An entry with `*` looks like a pattern, which is not supported. */
export const clientHosts = listOf(
  'hosts in lower case, each with a port if it is not the usual one, like app.example.com, or URLs of documents, like https://app.example.com/client.json',
  (text) => {
    if (text.includes('*')) return undefined;
    const url = parseDocumentUrl(text);
    return url && hasHost(url) ? url.href : hostOf(text);
  },
);

const issuerAliases: Readonly<Record<string, string>> = {
  github: 'https://token.actions.githubusercontent.com',
  gitlab: 'https://gitlab.com',
};

/** Spelled as URLs are, since issuers are compared as text, but with or without a slash at its end. */
export const issuers = listOf(
  'https:// URLs without a query, or http:// URLs with a loopback host; github and gitlab stand for theirs',
  (entry) => {
    const text = issuerAliases[entry] ?? entry;
    const url = webAddress(text);
    return url && !/[?#]/.test(text) && [text, `${text}/`].includes(url.href) ? text : undefined;
  },
);

const maxAudienceLength = 2048;

export const audiences = listOf(
  `audiences of visible ASCII characters, each at most ${maxAudienceLength} characters long`,
  (entry) => (/^[\x21-\x7e]+$/.test(entry) && entry.length <= maxAudienceLength ? entry : undefined),
);

export const addressRanges = listOf('IP addresses or CIDR ranges', (text): CidrRange | undefined => {
  if (text.includes('/')) return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined;
  if (!(text.includes(':') ? ipaddr.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text)))
    return undefined;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
});

const maxQuota = 1_000_000;
/** Far longer than the clocks of two nodes may differ. */
const minWindowSeconds = 10;
const maxWindowSeconds = 86_400;

const quotas = listOf(
  'name=quota/seconds, like runs=2400/60',
  (entry): readonly [string, Quota] | undefined => {
    const [, name = '', quota, windowSeconds] = /^([a-z_]+)=(\d{1,7})\/(\d{1,5})$/.exec(entry) ?? [];
    const rule = { quota: Number(quota), windowSeconds: Number(windowSeconds) };
    const isAllowed =
      rule.quota >= 1 &&
      rule.quota <= maxQuota &&
      rule.windowSeconds >= minWindowSeconds &&
      rule.windowSeconds <= maxWindowSeconds;
    return isAllowed ? [name, rule] : undefined;
  },
);

/** Whether rate limits apply, and quotas by their names. Whether these exist is checked by `readConfigOf`. */
export const rateLimits: Format<{
  readonly enabled: boolean;
  readonly quotas: ReadonlyMap<string, Quota>;
}> = {
  syntax: `on, off, or ${quotas.syntax}, which may start with off. Each name stands once, quotas are from 1 to ${maxQuota}, windows from ${minWindowSeconds} to ${maxWindowSeconds} seconds`,
  parse: (text) => {
    const [first = ''] = text.split(',', 1).map((entry) => entry.trim());
    const isSwitch = first === 'on' || first === 'off';
    const listed = quotas.parse(isSwitch ? text.trim().slice(first.length) : text);
    const byName = new Map(listed);
    return byName.size === listed?.length ? { enabled: first !== 'off', quotas: byName } : undefined;
  },
};
