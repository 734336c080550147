// The part of a lock that every runtime can take. Node 20 has no SQLite, so it takes only this part; the others take
// both. Like SQLite's lock, the kernel releases it when its owner dies.

import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { systemCode } from './store-failure.ts';

/** A claim to a file, until it is released. */
export interface Claim {
  release(): void;
}

/** Ports that no outgoing connection uses, nor a service that is usual. */
const firstPort = 1024;
const portCount = 31_000;

/** `O_EXLOCK` of macOS and the BSDs, which Node does not name. */
const exclusiveLock = 0x20;

const unneeded: Claim = { release: () => {} };

/**
 * Claims the file across all processes of this machine, or returns undefined if it is taken. Where the system cannot
 * do this, the claim is empty if `isOnlyLock` is false.
 * @throws the system's error if `isOnlyLock` is true
 */
export async function claimFile(file: string, isOnlyLock: boolean): Promise<Claim | undefined> {
  try {
    if (process.platform === 'linux' || process.platform === 'win32') return await listenAt(addressOf(file));
    // Both kinds of lock exclude each other there, so SQLite's alone is enough.
    return isOnlyLock ? openExclusively(file) : unneeded;
  } catch (error) {
    if (isTaken(error)) return undefined;
    if (isOnlyLock) throw error;
    return unneeded;
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * The same for every path to the file: one of 2^36 loopback addresses with a port. Only one process can listen there,
 * and it leaves nothing behind. Names of abstract sockets would be shorter, but Node 20 and Bun spell them differently.
 */
function addressOf(file: string): Address {
  const { dev, ino } = statSync(file, { bigint: true });
  const hash = createHash('sha256').update(`${dev}:${ino}`).digest();
  const host = `127.${64 + (hash.readUInt8(0) % 64)}.${hash.readUInt8(1)}.${1 + (hash.readUInt8(2) % 254)}`;
  return { host, port: firstPort + (hash.readUInt32BE(3) % portCount) };
}

function listenAt(address: Address): Promise<Claim> {
  const server = createServer((connection) => connection.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...address, exclusive: true }, () => resolve({ release: () => server.close() }));
  });
}

function openExclusively(file: string): Claim {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_NONBLOCK | exclusiveLock);
  return { release: () => closeSync(descriptor) };
}

const isTaken = (error: unknown): boolean => ['EADDRINUSE', 'EAGAIN'].includes(systemCode(error) ?? '');
