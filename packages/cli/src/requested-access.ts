import { fieldLimits } from '@latchkey/contract/field-limits';
import { UsageError } from './exit.ts';
import { requireLength } from './text-input.ts';

/** What a new key or token is to allow. */
export interface RequestedAccess {
  readonly scope: string;
  readonly resource?: string;
}

/**
 * Reads `--scope` and `--resource`.
 * @param scope each may hold several names
 * @throws {UsageError}
 */
export function requestedAccess(scope: readonly string[], resource: string | undefined): RequestedAccess {
  const names = scope.flatMap((text) => text.split(/\s+/)).filter((text) => text !== '');
  if (names.length === 0) throw new UsageError('A scope cannot be empty.');
  const text = [...new Set(names)].join(' ');
  requireLength('A scope', text, fieldLimits.scope);
  requireLength('A resource', resource, fieldLimits.resource);
  if (resource === '') throw new UsageError('A resource cannot be empty.');
  return { scope: text, ...(resource === undefined ? {} : { resource }) };
}
