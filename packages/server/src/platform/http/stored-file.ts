import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ifNoneMatchIncludes } from '../values/entity-tag.ts';

/** The codings a file is kept in, best first; `identity` is the file as it is. */
const codings = ['br', 'gzip', 'identity'] as const;
type Coding = (typeof codings)[number];

/** A file that never changes while the process runs, compressed once, at the start. */
export interface StoredFile {
  readonly bodies: Readonly<Record<Coding, Uint8Array<ArrayBuffer>>>;
  /** Of the content; each coding has a tag of its own. */
  readonly digest: string;
}

const digestLength = 22;
/** Nearly as small as the best, 11, in a seventh of the time: every start waits for it. */
const brotliQuality = 9;

/** Keeps a text in every coding. */
export function storeFile(text: string): StoredFile {
  const bytes = Buffer.from(text);
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } });
  return {
    bodies: {
      br: new Uint8Array(br),
      gzip: new Uint8Array(gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })),
      identity: new Uint8Array(bytes),
    },
    digest: createHash('sha256').update(bytes).digest('base64url').slice(0, digestLength),
  };
}

/**
 * The best coding that the other side takes: brotli, gzip, else the file as it is, which is also the answer to a
 * header that refuses everything.
 *
 * @see RFC 9110 section 12.5.3
 */
export function chooseCoding(acceptEncoding: string): Coding {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  const isTaken = (coding: Coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0;
  return codings.find(isTaken) ?? 'identity';
}

/** The file in the best coding; 304 without a body where the other side has it already. */
export function fileResponse(file: StoredFile, asked: Headers, headers: Record<string, string>): Response {
  const coding = chooseCoding(asked.get('Accept-Encoding') ?? '');
  const tag = `"${file.digest}-${coding}"`;
  const body = file.bodies[coding];
  const common = {
    ...headers,
    ETag: tag,
    // CORS makes every answer differ by Origin.
    Vary: 'Origin, Accept-Encoding',
  };
  if (ifNoneMatchIncludes(asked.get('If-None-Match') ?? '', tag))
    return new Response(null, { status: 304, headers: common });
  return new Response(body, {
    headers: {
      ...common,
      'Content-Length': String(body.length),
      ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    },
  });
}
