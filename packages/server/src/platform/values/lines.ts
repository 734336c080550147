const newline = 0x0a;

/** Lines without their ends; undefined for one over `maxBytes`, so that memory is bounded. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number) {
  let parts: Uint8Array[] = [];
  let length = 0;
  const finish = (): Buffer | undefined => {
    const line = length > maxBytes ? undefined : Buffer.concat(parts);
    parts = [];
    length = 0;
    return line;
  };
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > maxBytes) parts = [];
    else parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) yield finish();
}

const chunkLength = 64 * 1024;

/** Joins lines to chunks that are worth a write. Each line gets its end. */
export async function* chunksOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
