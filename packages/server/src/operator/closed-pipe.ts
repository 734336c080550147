import { FFIType, ptr } from 'bun:ffi';
import { cFunctions } from './c-library.ts';

const standardOutput = 1;

/** From POSIX: the size of `pollfd` and the offset of `revents`, which has one of these bits set once the reader is gone. */
const pollBytes = 8;
const resultOffset = 6;
const pollError = 0x08;
const pollHangup = 0x10;

/**
 * Returns what tells whether the reader of standard output has ended, which otherwise only shows when something is written. Where that
 * cannot be found out, it says no.
 */
export function watchReader(): () => boolean {
  const { i32, u32 } = FFIType;
  const library = cFunctions({ poll: { args: [FFIType.ptr, u32, i32], returns: i32 } });
  return () => {
    const request = new DataView(new ArrayBuffer(pollBytes));
    request.setInt32(0, standardOutput, true);
    const found = library?.poll(ptr(request), 1, 0) ?? 0;
    return found > 0 && (request.getInt16(resultOffset, true) & (pollError | pollHangup)) !== 0;
  };
}
