import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from './config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. No other file of the server reads it. */
export const processEnvironment: Environment = process.env;

const defaultEnvFile = '.env';

/**
 * Adds the settings of an env file to the environment. Variables that are already set, and not empty, take precedence.
 * Without a file name, reads `.env` if it exists.
 * @throws {ConfigError} when the file cannot be read
 */
export function readEnvFile(file: string | undefined): void {
  let text: string;
  try {
    text = readFileSync(file ?? defaultEnvFile, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (file === undefined && code === 'ENOENT') return;
    const source = file === undefined ? `The file ${defaultEnvFile}` : `--env-file ${file}`;
    throw new ConfigError(`${source} cannot be read: ${code}.`);
  }
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ||= value;
}

/** Whether npx runs this process. npx starts it through a shell of its own. */
export const isRunByNpx = (): boolean => processEnvironment['npm_lifecycle_event'] === 'npx';
