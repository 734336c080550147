import type { ScopeList } from '@latchkey/contract/keys';
import { signal } from '@preact/signals';
import { listScopes, type Problem } from '../api.ts';
import { detectSignOut } from './actions.tsx';

/** The scopes and resources that keys and sessions can be limited to, once loaded. */
export const known = signal<ScopeList>({ scopes: [], resources: [] });

export async function loadKnownScopes(): Promise<Problem | undefined> {
  const list = detectSignOut(await listScopes());
  if (!list.ok) return list.problem;
  known.value = list.value;
  return undefined;
}

/** The service of a resource, or its URI if no service declares it any more. */
export const serviceOf = (resource: string): string =>
  known.value.resources.find((one) => one.resource === resource)?.service ?? resource;
