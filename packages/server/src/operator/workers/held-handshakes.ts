import { FFIType, ptr } from 'bun:ffi';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cFunctions } from '../c-library.ts';

/** How long a handshake that has begun may take. A client whose first packet is dropped sends it again after 1 s. */
const handshakeMs = 50;

/** With 1, the kernel hands the connections of a closed listener to another one of the same port. */
const migrationSetting = '/proc/sys/net/ipv4/tcp_migrate_req';

/** From Linux: `SOL_SOCKET`, `SO_ATTACH_FILTER`, and the state of a listener in `/proc/net/tcp`. */
const socketLevel = 1;
const attachFilter = 26;
const listening = '0A';

/**
 * The socket filter: a packet with SYN and without ACK, which opens a connection, is dropped; all others pass. Each
 * instruction is a code, how far to jump if true or false, and a value.
 * @see https://www.kernel.org/doc/html/latest/networking/filter.html
 */
const dropNewConnections = [
  [0x30, 0, 0, 13], // load the byte with the flags
  [0x54, 0, 0, 0x12], // keep SYN and ACK
  [0x15, 0, 1, 0x02], // SYN alone?
  [0x06, 0, 0, 0], // drop
  [0x06, 0, 0, 0xffff_ffff], // pass
] as const;

/**
 * Prepares the listener of this process on a shared port for its end. Closing it resets connections that wait in its
 * queue or are still being opened. So no new ones begin, the others have time to arrive, and the event loop accepts them.
 * A client that was held up tries again after a second and gets to another worker.
 * @returns whether closing the listener now loses no connection
 */
export async function holdNewConnections(port: number): Promise<boolean> {
  if (existsSync(migrationSetting) && readFileSync(migrationSetting, 'utf8').trim() === '1') return true;
  const socket = listenerOf(port);
  const isHeld = socket !== undefined && attach(socket);
  if (isHeld) await Bun.sleep(handshakeMs);
  return isHeld;
}

/** The file descriptor of this process's listener, which Bun does not tell. */
function listenerOf(port: number): number | undefined {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(`/proc/self/net/${table}`, port)));
  return readdirSync('/proc/self/fd')
    .map(Number)
    .find((fd) => inodes.has(inodeOf(fd)));
}

function listenersIn(table: string, port: number): string[] {
  if (!existsSync(table)) return [];
  const rows = readFileSync(table, 'utf8').trim().split('\n').slice(1);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) =>
        state === listening && Number.parseInt(local.split(':')[1] ?? '', 16) === port,
    )
    .map((columns) => columns[9] ?? '');
}

function inodeOf(fd: number): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? 'none';
  } catch {
    return 'none';
  }
}

/** Returns whether the filter is in place. */
function attach(socket: number): boolean {
  const { i32, u32 } = FFIType;
  const code = new DataView(new ArrayBuffer(dropNewConnections.length * 8));
  for (const [index, [operation, jumpTrue, jumpFalse, value]] of dropNewConnections.entries()) {
    code.setUint16(index * 8, operation, true);
    code.setUint8(index * 8 + 2, jumpTrue);
    code.setUint8(index * 8 + 3, jumpFalse);
    code.setUint32(index * 8 + 4, value, true);
  }
  const program = new DataView(new ArrayBuffer(16));
  program.setUint16(0, dropNewConnections.length, true);
  program.setBigUint64(8, BigInt(ptr(code)), true);
  const library = cFunctions({ setsockopt: { args: [i32, i32, i32, FFIType.ptr, u32], returns: i32 } });
  return library?.setsockopt(socket, socketLevel, attachFilter, ptr(program), program.byteLength) === 0;
}
