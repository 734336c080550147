// Formulas for a Homebrew tap.
// @see https://docs.brew.sh/Formula-Cookbook

import type { ProgramFiles } from './program-files.ts';

export interface Download {
  readonly url: string;
  readonly sha256: string;
}

/** The archives that Homebrew chooses from. */
export interface Downloads {
  readonly macArm: Download;
  readonly macIntel: Download;
  readonly linuxArm: Download;
  readonly linuxIntel: Download;
}

/** The text of a formula. */
export function formulaOf(
  { program, version }: ProgramFiles,
  homepage: string,
  downloads: Downloads,
): string {
  const { name, section, summary } = program;
  const className = name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  const source = ({ url, sha256 }: Download) => `url "${url}"\n      sha256 "${sha256}"`;
  return `class ${className} < Formula
  desc "${summary.charAt(0).toUpperCase()}${summary.slice(1)}"
  homepage "${homepage}"
  version "${version}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      ${source(downloads.macArm)}
    end
    on_intel do
      ${source(downloads.macIntel)}
    end
  end

  on_linux do
    on_arm do
      ${source(downloads.linuxArm)}
    end
    on_intel do
      ${source(downloads.linuxIntel)}
    end
  end

  def install
    bin.install "${name}"
    man${section}.install "${name}.${section}"
    bash_completion.install "completions/${name}.bash" => "${name}"
    zsh_completion.install "completions/_${name}"
    fish_completion.install "completions/${name}.fish"
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/${name} --version").strip
  end
end
`;
}
