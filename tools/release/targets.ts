/** A platform that single files are built for. */
export interface Target {
  readonly name: string;
  readonly bun: Bun.Build.CompileTarget;
  /** The npm package with Bun for this platform, at the version of `bun` itself. */
  readonly runtime: string;
  /** The npm package with the keychain's library. */
  readonly keychain: string;
}

export const targets: readonly Target[] = [
  target('linux-x64', 'bun-linux-x64', 'linux-x64', 'linux-x64-gnu'),
  target('linux-arm64', 'bun-linux-arm64', 'linux-aarch64', 'linux-arm64-gnu'),
  target('linux-x64-musl', 'bun-linux-x64-musl', 'linux-x64-musl', 'linux-x64-musl'),
  target('linux-arm64-musl', 'bun-linux-arm64-musl', 'linux-aarch64-musl', 'linux-arm64-musl'),
  target('macos-arm64', 'bun-darwin-arm64', 'darwin-aarch64', 'darwin-arm64'),
  target('macos-x64', 'bun-darwin-x64', 'darwin-x64', 'darwin-x64'),
];

function target(name: string, bun: Bun.Build.CompileTarget, runtime: string, keychain: string): Target {
  return {
    name,
    bun,
    runtime: `@oven/bun-${runtime}`,
    keychain: `@napi-rs/keyring-${keychain}`,
  };
}

/** The target whose files run on this machine. */
export const hostTarget = (): Target | undefined => {
  const system = process.platform === 'darwin' ? 'macos' : process.platform;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const isMusl = process.platform === 'linux' && header.glibcVersionRuntime === undefined;
  return targets.find(({ name }) => name === `${system}-${process.arch}${isMusl ? '-musl' : ''}`);
};
