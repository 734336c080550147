// What an agent may hand out, as options and as a file.

import { readFile } from 'node:fs/promises';
import type { ForwardTarget } from '@latchkey/client/internal/agent-forwarder';
import { agentLifetimeSeconds } from '@latchkey/client/internal/agent-runs';
import { isLoopbackHost } from '@latchkey/client/internal/loopback';
import { canonicalResource } from '@latchkey/client/internal/resource';
import { UsageError } from './exit.ts';
import { parseDuration, requestedAccess } from './text-input.ts';

/** The options of `latchkey agent`. The file has the same, except its own name. */
export interface AgentOptions {
  readonly policy?: string;
  readonly scope?: readonly string[];
  readonly resource?: string;
  readonly expires?: string;
  readonly listen?: string;
  readonly forward?: readonly string[];
  readonly ask?: boolean;
}

/** Options override the file. @throws {UsageError} */
export async function readPolicy({ policy: file, ...options }: AgentOptions) {
  const {
    scope,
    resource,
    expires,
    listen,
    forward = [],
    ask = false,
  } = { ...(file === undefined ? {} : await readFileOptions(file)), ...options };
  const scopes = scope ? requestedAccess(scope, resource).scope.split(' ') : [];
  if (scopes.includes('*'))
    throw new UsageError('An agent never hands out *.', 'Name the scopes to hand out.');
  const forwards = forward.map(forwardTarget);
  if (new Set(forwards.map(({ name }) => name)).size < forwards.length)
    throw new UsageError('Each --forward needs a name of its own.');
  const { min, max } = agentLifetimeSeconds;
  const maxLifetimeSeconds = expires === undefined ? max : parseDuration('--expires', expires);
  if (maxLifetimeSeconds < min || maxLifetimeSeconds > max)
    throw new UsageError('A token of an agent can expire in 60 seconds to 15 minutes.');
  return { scopes, resource, maxLifetimeSeconds, listen, forwards, ask };
}

const targetPattern = /^([a-z][a-z0-9-]{0,31})=([^\s?#]+)((?:\s+[a-z][a-z0-9_.:-]{0,63})+)$/;

/** @throws {UsageError} */
function forwardTarget(text: string): ForwardTarget {
  const [, name = '', address = '', scopes = ''] = targetPattern.exec(text.trim()) ?? [];
  const url = URL.parse(address);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (isSafe && url.username + url.password === '')
    return { name, resource: canonicalResource(address), scopes: [...new Set(scopes.trim().split(/\s+/))] };
  throw new UsageError(
    "--forward takes 'NAME=URL SCOPE…': a name of lowercase letters, digits and hyphens, an https URL or http on this machine, and scopes other than *.",
    "It looks like --forward 'tickets=https://tickets.example tickets:read'.",
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';
const members = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    scope: (value: unknown) => Array.isArray(value) && value.every(isText),
    resource: isText,
    forward: (value: unknown) => Array.isArray(value) && value.every(isText),
    expires: isText,
    listen: isText,
    ask: (value: unknown) => typeof value === 'boolean',
  }),
);

/** @throws {UsageError} */
async function readFileOptions(file: string): Promise<AgentOptions> {
  let options: unknown;
  try {
    options = JSON.parse(await readFile(file, 'utf8'));
  } catch {
    throw new UsageError(`The policy in ${file} cannot be read, or is not JSON.`);
  }
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError(`The policy in ${file} is not a JSON object.`);
  const wrong = Object.entries(options).find(([name, value]) => !members.get(name)?.(value));
  if (wrong) throw new UsageError(`The policy in ${file} has an invalid or unknown member "${wrong[0]}".`);
  return options;
}
