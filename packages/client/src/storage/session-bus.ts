// The part of D-Bus that the keychain of Linux needs. It is spoken here and not by a library of native code, because a call that a
// keychain never answers must not keep the process from ending: closing a socket ends it.
// @see https://dbus.freedesktop.org/doc/dbus-specification.html

import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { inTime } from '../clock.ts';
import { systemCode } from './store-failure.ts';

/** Where to find the Secret Service on Linux, as given by the environment. */
export interface SessionBus {
  /** `DBUS_SESSION_BUS_ADDRESS` */
  readonly address?: string | undefined;
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDirectory?: string | undefined;
}

export class LateError extends Error {
  constructor(ms: number) {
    super(`it did not respond within ${ms / 1000} s`);
  }
}

/** There is no keychain: no bus that accepts this process, no Secret Service on it, or nothing to store secrets in. */
export class KeychainAbsent extends Error {}

/** An error that a program on the bus, or the bus itself, answered with. */
export class BusError extends Error {
  /** Like `org.freedesktop.DBus.Error.ServiceUnknown`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Bytes are a buffer, arrays and structures arrays, a dictionary pairs, a variant its type and value. */
export type BusValue = string | number | boolean | Uint8Array | readonly BusValue[];

/** Calls a method of a program on the bus, and returns what that answers. */
export type BusCall = (
  destination: string,
  path: string,
  method: `${string}.${string}`,
  signature?: string,
  ...body: readonly BusValue[]
) => Promise<readonly BusValue[]>;

const bus = 'org.freedesktop.DBus';
/** Several times the longest message of a keychain. */
const maxMessageBytes = 8 * 1024 * 1024;
const maxLineLength = 1024;

/**
 * Runs the work with a connection to the bus, which is closed at the end, and after the time limit in any case.
 * @throws {KeychainAbsent}; {BusError}; an error if the bus, or a program on it, does not respond in time
 */
export async function withSessionBus<T>(where: SessionBus, ms: number, work: (call: BusCall) => Promise<T>) {
  const opened: Socket[] = [];
  const done = connectFirst(socketsOf(where), opened).then(openConnection).then(work);
  try {
    return await inTime(done, ms, () => new LateError(ms));
  } finally {
    for (const socket of opened) socket.destroy();
  }
}

/** The socket paths; an abstract socket begins with NUL. @see D-Bus Specification, Server Addresses */
export function socketsOf({ address, runtimeDirectory }: SessionBus): string[] {
  if (!address) return runtimeDirectory ? [join(runtimeDirectory, 'bus')] : [];
  return address
    .split(';')
    .filter((candidate) => candidate.startsWith('unix:'))
    .flatMap((candidate) => {
      // Forms give two more characters a meaning.
      const pairs = candidate.slice('unix:'.length).replace(/[+&]/g, encodeURIComponent);
      const keys = new URLSearchParams(pairs.replaceAll(',', '&'));
      const [path, abstract] = [keys.get('path'), keys.get('abstract')];
      if (path) return [path];
      return abstract ? [`\0${abstract}`] : [];
    });
}

/** What listens at a socket may close the connection before the runtime says that there was one. */
const closedCodes = ['ECONNRESET', 'EPIPE'];

/** @throws {KeychainAbsent} if nothing listens at any of these sockets */
async function connectFirst(paths: readonly string[], opened: Socket[]): Promise<Socket> {
  for (const path of paths) {
    const socket = connect({ path });
    opened.push(socket);
    const isConnected = await new Promise<boolean>((resolve, reject) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', (error) =>
        closedCodes.includes(systemCode(error) ?? '') ? reject(error) : resolve(false),
      );
    });
    if (isConnected) return socket;
  }
  throw new KeychainAbsent('no D-Bus session bus responds');
}

/** Authenticates and says hello. */
async function openConnection(socket: Socket): Promise<BusCall> {
  const received = incoming(socket);
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  const answer = await received.line();
  if (!answer.startsWith('OK '))
    throw new KeychainAbsent('the D-Bus session bus does not accept this process');
  socket.write('BEGIN\r\n');
  let serial = 0;
  const call: BusCall = async (destination, path, method, signature = '', ...body) => {
    serial++;
    const own = serial;
    const at = method.lastIndexOf('.');
    const fields: BusValue[] = [
      [1, ['o', path]],
      [2, ['s', method.slice(0, at)]],
      [3, ['s', method.slice(at + 1)]],
      [6, ['s', destination]],
      ...(signature === '' ? [] : [[8, ['g', signature]]]),
    ];
    socket.write(encodeMessage(1, own, fields, signature, body));
    for (;;) {
      const message = await received.message();
      // Signals, and calls by others, are of no interest.
      if (message.replyTo !== own) continue;
      const answer = message.body();
      if (message.type === 3) throw new BusError(message.error, String(answer[0] ?? message.error));
      return answer;
    }
  };
  await call(bus, '/org/freedesktop/DBus', `${bus}.Hello`);
  return call;
}

/** What arrives on a socket, one line or message at a time. @internal */
export function incoming(socket: Socket) {
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  let bytes = Buffer.alloc(0);
  const take = async (length: number): Promise<Buffer> => {
    while (bytes.length < length) {
      const { value, done } = await chunks.next();
      if (done) throw new Error('it closed the connection');
      bytes = Buffer.concat([bytes, value]);
    }
    const part = bytes.subarray(0, length);
    bytes = bytes.subarray(length);
    return part;
  };
  return {
    line: async (): Promise<string> => {
      let text = '';
      while (!text.endsWith('\r\n')) {
        if (text.length > maxLineLength) throw new Error('it sends too much');
        text += (await take(1)).toString('latin1');
      }
      return text.trimEnd();
    },
    message: async () => {
      const head = await take(16);
      const [, , , , bodyLength, , fieldsLength] = decoder(head).all('yyyyuuu');
      const rest = Number(fieldsLength) + paddingAt(Number(fieldsLength), 8) + Number(bodyLength);
      if (rest > maxMessageBytes) throw new Error('it sends too much');
      return decodeMessage(Buffer.concat([head, await take(rest)]));
    },
  };
}

const paddingAt = (offset: number, boundary: number): number => (boundary - (offset % boundary)) % boundary;

const headSignature = 'yyyyuua(yv)';

/** @internal */
export function encodeMessage(
  type: number,
  serial: number,
  fields: readonly BusValue[],
  signature: string,
  values: readonly BusValue[],
): Buffer {
  const body = encode(signature, values);
  const head = encode(headSignature, [0x6c, type, 0, 1, body.length, serial, fields]);
  return Buffer.concat([head, Buffer.alloc(paddingAt(head.length, 8)), body]);
}

function decodeMessage(bytes: Buffer) {
  const { all, align } = decoder(bytes);
  const [, type, , , , serial, fields] = all(headSignature);
  const pairs = fields as readonly (readonly [number, readonly [string, BusValue]])[];
  const field = new Map(pairs.map(([code, [, value]]) => [code, value]));
  return {
    type: Number(type),
    serial: Number(serial),
    replyTo: field.get(5),
    member: String(field.get(3) ?? ''),
    error: String(field.get(4) ?? ''),
    /** Decoded on demand, because unrelated messages may contain types that the decoder does not support. */
    body: (): BusValue[] => {
      align(8);
      return all(String(field.get(8) ?? ''));
    },
  };
}

/** `a{sv}ob` is `a{sv}`, `o` and `b`. No structure here holds another one. */
const typesIn = (signature: string): string[] => signature.match(/a*(\(.*?\)|\{.*?\}|\w)/g) ?? [];

const boundaries: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, '(': 8, '{': 8 };
const boundaryOf = (type: string): number => boundaries[type[0]!] ?? 4;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Values that begin at this offset, which decides where padding is needed. */
function encode(signature: string, values: readonly BusValue[], offset = 0): Buffer {
  let bytes = Buffer.alloc(0);
  for (const [index, type] of typesIn(signature).entries()) {
    const padding = Buffer.alloc(paddingAt(offset + bytes.length, boundaryOf(type)));
    const value = encodeOne(type, values[index]!, offset + bytes.length + padding.length);
    bytes = Buffer.concat([bytes, padding, value]);
  }
  return bytes;
}

function encodeOne(type: string, value: BusValue, offset: number): Buffer {
  switch (type[0]) {
    case 'y':
      return Buffer.of(value as number);
    case 'u':
    case 'b':
      return uint32(Number(value));
    case 'g':
      return Buffer.concat([Buffer.of(String(value).length), Buffer.from(`${value}\0`)]);
    case 's':
    case 'o': {
      const text = Buffer.from(`${value}\0`);
      return Buffer.concat([uint32(text.length - 1), text]);
    }
    case 'v': {
      const [signature, held] = value as [string, BusValue];
      return encode(`g${signature}`, [signature, held], offset);
    }
    case '(':
    case '{':
      return encode(type.slice(1, -1), value as BusValue[], offset);
    case 'a': {
      const element = type.slice(1);
      const padding = Buffer.alloc(paddingAt(offset + 4, boundaryOf(element)));
      const start = offset + 4 + padding.length;
      const list = value as BusValue[] | Uint8Array;
      const content = list instanceof Uint8Array ? list : encode(element.repeat(list.length), list, start);
      return Buffer.concat([uint32(content.length), padding, content]);
    }
    default:
      throw new Error(`no value of the type ${type} can be sent`);
  }
}

/** Reads values one after the other. */
function decoder(bytes: Buffer) {
  const isLittle = bytes[0] === 0x6c;
  let at = 0;
  const align = (boundary: number): void => {
    at += paddingAt(at, boundary);
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('it sent a message that is too short');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const number = (): number => (isLittle ? take(4).readUInt32LE() : take(4).readUInt32BE());
  const text = (length: number): string => take(length + 1).toString('utf8', 0, length);
  const array = (element: string): BusValue => {
    const length = number();
    align(boundaryOf(element));
    if (element === 'y') return take(length);
    const end = at + length;
    const values: BusValue[] = [];
    while (at < end) {
      const start = at;
      values.push(one(element));
      if (at === start) throw new Error('it sent values of no length');
    }
    return values;
  };
  const one = (type: string): BusValue => {
    align(boundaryOf(type));
    switch (type[0]) {
      case 'y':
        return take(1)[0]!;
      case 'b':
        return number() !== 0;
      case 'u':
        return number();
      case 's':
      case 'o':
        return text(number());
      case 'g':
        return text(take(1)[0]!);
      case 'v': {
        const signature = String(one('g'));
        return [signature, one(signature)];
      }
      case '(':
      case '{':
        return all(type.slice(1, -1));
      case 'a':
        return array(type.slice(1));
      default:
        throw new Error(`it sent a value of the type ${type}`);
    }
  };
  const all = (signature: string): BusValue[] => typesIn(signature).map(one);
  return { align, all };
}
