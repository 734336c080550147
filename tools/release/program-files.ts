// The files that accompany a program: man page, completions and notices.

import { completionScript, type Shell } from '../../packages/cli/src/commands/completion.ts';
import { type BundledPackage, noticesOf } from './bundled-packages.ts';
import { manualOf } from './manual.ts';
import type { Program } from './programs.ts';

export interface ProgramFiles {
  readonly program: Program;
  readonly version: string;
  readonly files: {
    readonly manual: string;
    readonly completions: Readonly<Record<Shell, string>>;
    /** The licenses of everything in the executable. */
    readonly notices: string;
  };
}

export async function programFiles(
  program: Program,
  packages: readonly BundledPackage[],
): Promise<ProgramFiles> {
  const commands = program.commands();
  const completion = (shell: Shell) => `${completionScript(shell, commands)}\n`;
  return {
    program,
    version: commands.version() ?? '',
    files: {
      manual: manualOf(program),
      completions: { bash: completion('bash'), zsh: completion('zsh'), fish: completion('fish') },
      notices: await noticesOf(packages),
    },
  };
}
