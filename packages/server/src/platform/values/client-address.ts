import ipaddr from 'ipaddr.js';

/** Where a request comes from, as far as that is known. */
export interface ClientInfo {
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/** For what no request caused. */
export const noClient: ClientInfo = { ipAddress: null, userAgent: null };

/** In UTF-16 code units. Longer ones are truncated. */
export const maxUserAgentLength = 512;

/** The address and user agent that sessions, events and security notices record. */
export const readClientInfo = (
  trustedProxies: readonly CidrRange[],
  from: { readonly request: Request; readonly connection: { readonly peer: string | undefined } },
): ClientInfo => ({
  ipAddress: clientAddress(from.connection.peer, from.request.headers.get('X-Forwarded-For'), trustedProxies),
  userAgent: readUserAgent(from.request.headers),
});

/** Shown in lists and mails, so it has no control characters, bidi overrides or split surrogate pairs. */
const readUserAgent = (headers: Headers): string | null =>
  headers
    .get('User-Agent')
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxUserAgentLength)
    .replace(/\p{Cs}$/u, '') || null;

/** A user agent without its version numbers, which change with every update. */
export const programOf = (userAgent: string | null): string => (userAgent ?? '').replace(/[\d._]+/g, '');

/** A CIDR range: its first address and its prefix length in bits. */
export type CidrRange = [Address, number];

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const ipv4AddressBits = 32;
const ipv4NetworkBits = 24;
const ipv6NetworkBits = 64;

/** How many texts each of the functions below remembers. */
export const maxRemembered = 1000;
const maxRememberedLength = 64;

/** Remembers results by their text: parsing addresses would be 15% of the CPU time of a refresh. */
function remembered<T>(compute: (text: string) => T): (text: string) => T {
  const results = new Map<string, T>();
  return (text) => {
    if (text.length > maxRememberedLength) return compute(text);
    let result = results.get(text);
    if (result !== undefined || results.has(text)) return result as T;
    if (results.size >= maxRemembered) results.clear();
    result = compute(text);
    results.set(text, result);
    return result;
  };
}

/** Parses an address without its port and zone; an IPv4-mapped IPv6 address becomes IPv4. */
const parse = remembered((text): Address | undefined => {
  const bare = text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
    .replace(/%.*$/, '');
  return ipaddr.isValid(bare) && /[.:].*[.:]/.test(bare) ? ipaddr.process(bare) : undefined;
});

const isInRange = (address: Address, [first, bits]: CidrRange): boolean =>
  address instanceof ipaddr.IPv4
    ? first instanceof ipaddr.IPv4 && address.match(first, bits)
    : first instanceof ipaddr.IPv6 && address.match(first, bits);

const isTrusted = (address: Address, proxies: readonly CidrRange[]): boolean =>
  proxies.some((range) => isInRange(address, range));

/** The peer's address or, behind trusted proxies, the last in `X-Forwarded-For` that is not one of them. */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  proxies: readonly CidrRange[],
): string | null {
  let address = peer === undefined ? undefined : parse(peer);
  if (!address) return null;
  const hops = forwardedFor?.split(',') ?? [];
  while (hops.length > 0 && isTrusted(address, proxies)) {
    const next = parse(hops.pop()!);
    if (!next) break;
    address = next;
  }
  return address.toString();
}

export function isTrustedPeer(peer: string | undefined, proxies: readonly CidrRange[]): boolean {
  const address = peer === undefined ? undefined : parse(peer);
  return address !== undefined && isTrusted(address, proxies);
}

const prefixOf = (ipv4Bits: number) =>
  remembered((address): string => {
    const parsed = parse(address);
    if (!parsed) return unknownNetwork;
    return parsed instanceof ipaddr.IPv4
      ? `${ipaddr.IPv4.networkAddressFromCIDR(`${parsed}/${ipv4Bits}`)}/${ipv4Bits}`
      : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/${ipv6NetworkBits}`)}/${ipv6NetworkBits}`;
  });

const unknownNetwork = 'unknown';
const ofAddress = prefixOf(ipv4AddressBits);
const ofNetwork = prefixOf(ipv4NetworkBits);

/** The key that counts requests from an address: the IPv4 address, or the typical /64 of an IPv6 client. */
export const addressKey = (address: string | null): string =>
  address === null ? unknownNetwork : ofAddress(address);

/** The key to count requests from a network by: the /24 (IPv4) or /64 (IPv6) of the address. */
export const networkKey = (address: string | null): string =>
  address === null ? unknownNetwork : ofNetwork(address);

/** Whether two addresses are in the same network: the same IPv4 /24 or the same IPv6 /64. */
export const sameNetwork = (a: string | null, b: string | null): boolean =>
  networkKey(a) !== unknownNetwork && networkKey(a) === networkKey(b);
