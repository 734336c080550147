import { dlopen, type FFIFunction } from 'bun:ffi';

const cLibraries = [
  'libc.so.6',
  `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`,
  'libSystem.B.dylib',
];

/** Functions of the C library, for what the runtime does not offer; undefined where it is not found. */
export function cFunctions<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  for (const library of cLibraries) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // Not the C library of this system.
    }
  }
  return undefined;
}
