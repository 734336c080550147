// The part of D-Bus that the keychain of Linux needs. It is spoken here and not by a library of native code, because a call that a
// keychain never answers must not keep the process from ending: closing a socket ends it.
// @see https://dbus.freedesktop.org/doc/dbus-specification.html

import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { inTime } from '../clock.ts';

/** Where to find the Secret Service on Linux, as given by the environment. */
export interface SessionBus {
  /** `DBUS_SESSION_BUS_ADDRESS` */
  readonly address?: string | undefined;
  /** `XDG_RUNTIME_DIR` */
  readonly runtimeDirectory?: string | undefined;
}

/** No response came in time. */
export class LateError extends Error {
  constructor(ms: number) {
    super(`it did not respond within ${ms / 1000} s`);
  }
}

/** There is no bus that accepts this process. */
export class NoBus extends Error {}

/** An error that a program on the bus, or the bus itself, answered with. */
export class BusError extends Error {
  /** Like `org.freedesktop.DBus.Error.ServiceUnknown`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A value of D-Bus: bytes as a buffer, other arrays and structures as arrays, a dictionary as an array of pairs, a variant as its
 * signature and value.
 */
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

/**
 * Runs the work with a connection to the bus, which is closed at the end, and after the time limit in any case.
 * @throws {NoBus}; {BusError}; an error if the bus, or a program on it, does not respond in time
 */
export async function withSessionBus<T>(
  where: SessionBus,
  ms: number,
  work: (call: BusCall) => Promise<T>,
): Promise<T> {
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

/** @throws {NoBus} if nothing listens at any of these sockets */
async function connectFirst(paths: readonly string[], opened: Socket[]): Promise<Socket> {
  for (const path of paths) {
    const socket = connect({ path });
    opened.push(socket);
    const isConnected = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isConnected) return socket;
  }
  throw new NoBus('no D-Bus session bus responds');
}

/** Authenticates and says hello. */
async function openConnection(socket: Socket): Promise<BusCall> {
  const received = incoming(socket);
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  const answer = await received.line();
  if (!answer.startsWith('OK ')) throw new NoBus('the D-Bus session bus does not accept this process');
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

interface BusMessage {
  readonly type: number;
  readonly serial: number;
  readonly replyTo: number | undefined;
  readonly member: string;
  readonly error: string;
  /** Messages that nobody asked for may have values of other types than answers of a keychain. */
  readonly body: () => readonly BusValue[];
}

/** What arrives on a socket, one line or message at a time. @internal */
export function incoming(socket: Socket) {
  let bytes = Buffer.alloc(0);
  let failure: Error | undefined;
  let wake = () => {};
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > maxMessageBytes) socket.destroy(new Error('it sends too much'));
    wake();
  });
  socket.on('error', (error) => {
    failure = error;
    wake();
  });
  socket.on('close', () => {
    failure ??= new Error('it closed the connection');
    wake();
  });
  /** The next part, as long as `length` says it is: undefined while that is unknown. */
  const take = async (length: () => number | undefined): Promise<Buffer> => {
    for (;;) {
      const needed = length();
      if (needed !== undefined && needed <= bytes.length) {
        const part = bytes.subarray(0, needed);
        bytes = bytes.subarray(needed);
        return part;
      }
      if (failure) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    line: async (): Promise<string> => {
      const end = () => {
        const at = bytes.indexOf('\r\n');
        return at < 0 ? undefined : at + 2;
      };
      return (await take(end)).toString('latin1').trimEnd();
    },
    message: async (): Promise<BusMessage> =>
      decodeMessage(await take(() => (bytes.length < 16 ? undefined : messageLength(bytes)))),
  };
}

/** From the first 16 bytes. */
function messageLength(bytes: Buffer): number {
  const { isLittle, view } = viewOf(bytes);
  const length = 16 + aligned(view.getUint32(12, isLittle), 8) + view.getUint32(4, isLittle);
  if (length > maxMessageBytes) throw new Error('it sends too much');
  return length;
}

const viewOf = (bytes: Buffer) => ({
  isLittle: bytes[0] === 0x6c,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});

const aligned = (offset: number, boundary: number): number => Math.ceil(offset / boundary) * boundary;

/** @internal */
export function encodeMessage(
  type: number,
  serial: number,
  fields: readonly BusValue[],
  signature: string,
  values: readonly BusValue[],
): Buffer {
  const body = new Writer();
  body.all(signature, values);
  const head = new Writer();
  head.all('yyyyuua(yv)', [0x6c, type, 0, 1, body.length, serial, fields]);
  head.align(8);
  return Buffer.concat([...head.parts, ...body.parts]);
}

function decodeMessage(bytes: Buffer): BusMessage {
  const reader = new Reader(bytes);
  const [, type, , , , serial, fields] = reader.all('yyyyuua(yv)');
  const pairs = fields as readonly (readonly [number, readonly [string, BusValue]])[];
  const field = new Map(pairs.map(([code, [, value]]) => [code, value]));
  reader.align(8);
  return {
    type: Number(type),
    serial: Number(serial),
    replyTo: field.get(5) as number | undefined,
    member: String(field.get(3) ?? ''),
    error: String(field.get(4) ?? ''),
    body: () => reader.all(String(field.get(8) ?? '')),
  };
}

/** `a{sv}ob` is `a{sv}`, `o` and `b`. */
function typesIn(signature: string): string[] {
  const types: string[] = [];
  for (let rest = signature; rest !== ''; rest = rest.slice(types.at(-1)!.length))
    types.push(firstType(rest));
  return types;
}

function firstType(signature: string): string {
  const opened = /^a*/.exec(signature)![0].length;
  let depth = 0;
  for (let at = opened; at < signature.length; at++) {
    if ('({'.includes(signature[at]!)) depth++;
    if (')}'.includes(signature[at]!)) depth--;
    if (depth === 0) return signature.slice(0, at + 1);
  }
  return signature;
}

const boundaries: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, '(': 8, '{': 8 };
const boundaryOf = (type: string): number => boundaries[type[0]!] ?? 4;

class Writer {
  readonly parts: Uint8Array[] = [];
  length = 0;

  #push(part: Uint8Array): void {
    this.parts.push(part);
    this.length += part.length;
  }

  align(boundary: number): void {
    this.#push(Buffer.alloc(aligned(this.length, boundary) - this.length));
  }

  all(signature: string, values: readonly BusValue[]): void {
    for (const [index, type] of typesIn(signature).entries()) this.#write(type, values[index]!);
  }

  #number(value: number): Buffer {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.#push(bytes);
    return bytes;
  }

  #write(type: string, value: BusValue): void {
    this.align(boundaryOf(type));
    switch (type[0]) {
      case 'y':
        this.#push(Buffer.of(value as number));
        break;
      case 'u':
      case 'b':
        this.#number(Number(value));
        break;
      case 'g':
        this.#push(Buffer.from(`${String.fromCharCode(String(value).length)}${value}\0`));
        break;
      case 's':
      case 'o': {
        const text = Buffer.from(`${value}\0`);
        this.#number(text.length - 1);
        this.#push(text);
        break;
      }
      case 'v': {
        const [signature, held] = value as [string, BusValue];
        this.all(`g${signature}`, [signature, held]);
        break;
      }
      case '(':
      case '{':
        this.all(type.slice(1, -1), value as BusValue[]);
        break;
      case 'a':
        this.#array(type.slice(1), value);
        break;
      default:
        throw new Error(`no value of the type ${type} can be sent`);
    }
  }

  #array(element: string, value: BusValue): void {
    const length = this.#number(0);
    this.align(boundaryOf(element));
    const start = this.length;
    if (value instanceof Uint8Array) this.#push(value);
    else for (const one of value as BusValue[]) this.#write(element, one);
    length.writeUInt32LE(this.length - start);
  }
}

class Reader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #isLittle: boolean;
  #at = 0;

  constructor(bytes: Buffer) {
    const { isLittle, view } = viewOf(bytes);
    this.#bytes = bytes;
    this.#view = view;
    this.#isLittle = isLittle;
  }

  align(boundary: number): void {
    this.#at = aligned(this.#at, boundary);
  }

  all(signature: string): BusValue[] {
    return typesIn(signature).map((type) => this.#read(type));
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new Error('it sent a message that is too short');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #number(): number {
    const at = this.#at;
    this.#take(4);
    return this.#view.getUint32(at, this.#isLittle);
  }

  #text(length: number): string {
    return this.#take(length + 1)
      .subarray(0, length)
      .toString();
  }

  #read(type: string): BusValue {
    this.align(boundaryOf(type));
    switch (type[0]) {
      case 'y':
        return this.#take(1)[0]!;
      case 'b':
        return this.#number() !== 0;
      case 'u':
        return this.#number();
      case 's':
      case 'o':
        return this.#text(this.#number());
      case 'g':
        return this.#text(this.#take(1)[0]!);
      case 'v': {
        const [signature] = this.all('g') as [string];
        return [signature, this.#read(signature)];
      }
      case '(':
      case '{':
        return this.all(type.slice(1, -1));
      case 'a':
        return this.#array(type.slice(1));
      default:
        throw new Error(`it sent a value of the type ${type}`);
    }
  }

  #array(element: string): BusValue {
    const length = this.#number();
    this.align(boundaryOf(element));
    if (element === 'y') return this.#take(length);
    const end = this.#at + length;
    const values: BusValue[] = [];
    while (this.#at < end) values.push(this.#read(element));
    return values;
  }
}
