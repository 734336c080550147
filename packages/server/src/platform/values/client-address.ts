import ipaddr from 'ipaddr.js';

/** An address range: its first address and how many leading bits all of its addresses share. */
export type CidrRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

const ipv4AddressBits = 32;
const ipv4NetworkBits = 24;
const ipv6NetworkBits = 64;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address without port and zone, IPv4 also where it came wrapped in IPv6; undefined for anything else. */
const parse = (text: string): Address | undefined => {
  const bare = text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
    .replace(/%.*$/, '');
  return ipaddr.isValid(bare) && /[.:].*[.:]/.test(bare) ? ipaddr.process(bare) : undefined;
};

const isTrusted = (address: Address, proxies: readonly CidrRange[]): boolean =>
  proxies.some(([range, bits]) => address.kind() === range.kind() && address.match(range as never, bits));

/**
 * The client's address: the peer, or, where the peer is a trusted proxy, the nearest address in
 * `X-Forwarded-For` that is not one. What an untrusted peer says is never believed.
 */
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

/** Whether the peer may say on whose behalf it asks. */
export function isTrustedPeer(peer: string | undefined, proxies: readonly CidrRange[]): boolean {
  const address = peer === undefined ? undefined : parse(peer);
  return address !== undefined && isTrusted(address, proxies);
}

const prefixOf = (address: string | null, ipv4Bits: number): string => {
  const parsed = address === null ? undefined : parse(address);
  if (!parsed) return 'unknown';
  const [bits, ofBits] =
    parsed.kind() === 'ipv4'
      ? [ipv4Bits, ipaddr.IPv4.subnetMaskFromPrefixLength(ipv4Bits)]
      : [ipv6NetworkBits, ipaddr.IPv6.subnetMaskFromPrefixLength(ipv6NetworkBits)];
  const mask = ofBits.toByteArray();
  return `${ipaddr.fromByteArray(parsed.toByteArray().map((byte, index) => byte & mask[index]!))}/${bits}`;
};

/** What a client address is counted as: a whole IPv4 address, or the /64 that one IPv6 client has for itself. */
export const addressKey = (address: string | null): string => prefixOf(address, ipv4AddressBits);

/** What a client network is counted as: the /24 (IPv4) or /64 (IPv6) of the address. */
export const networkKey = (address: string | null): string => prefixOf(address, ipv4NetworkBits);

/** Whether two addresses lie in one network: the same /24 of IPv4 or the same /64 of IPv6. */
export function sameNetwork(a: string | null, b: string | null): boolean {
  const one = a === null ? undefined : parse(a);
  const other = b === null ? undefined : parse(b);
  if (!one || !other || one.kind() !== other.kind()) return false;
  return one.match(other as never, one.kind() === 'ipv4' ? ipv4NetworkBits : ipv6NetworkBits);
}
