// The lock of Node 20, which has no SQLite. Like SQLite's lock, the kernel releases it when its owner dies.

import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { systemCode } from './store-failure.ts';

/** A lock that is held until it is closed. */
export interface Held {
  close(): unknown;
}

/** Ports that no outgoing connection uses, nor a service that is usual. */
const firstPort = 1024;
const portCount = 31_000;

/** `O_EXLOCK` of macOS and the BSDs, which Node does not name. It also excludes SQLite's lock. */
const exclusiveLock = 0x20;

/**
 * Claims the file across all processes of this machine that have no SQLite, or returns undefined if it is taken.
 * @throws the system's error
 */
export async function claimFile(file: string): Promise<Held | undefined> {
  try {
    if (process.platform === 'linux' || process.platform === 'win32') return await listenAt(addressOf(file));
    return openExclusively(file);
  } catch (error) {
    if (['EADDRINUSE', 'EAGAIN'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

/**
 * The same for every path to the file: one of 2^36 loopback addresses with a port. Only one process can listen there,
 * and it leaves nothing behind.
 */
function addressOf(file: string) {
  const { dev, ino } = statSync(file, { bigint: true });
  const hash = createHash('sha256').update(`${dev}:${ino}`).digest();
  const host = `127.${64 + (hash.readUInt8(0) % 64)}.${hash.readUInt8(1)}.${1 + (hash.readUInt8(2) % 254)}`;
  return { host, port: firstPort + (hash.readUInt32BE(3) % portCount) };
}

function listenAt(address: ReturnType<typeof addressOf>): Promise<Held> {
  const server = createServer((connection) => connection.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...address, exclusive: true }, () => resolve(server));
  });
}

function openExclusively(file: string): Held {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_NONBLOCK | exclusiveLock);
  return { close: () => closeSync(descriptor) };
}
