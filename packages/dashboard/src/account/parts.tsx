import type { Key, ScopeList } from '@latchkey/contract/keys';
import { isSameResource } from '@latchkey/contract/scope-names';
import type { DescribedScope } from '@latchkey/contract/scopes';
import type { Session } from '@latchkey/contract/sessions';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { call, type Problem } from '../api.ts';
import { fillParts, texts } from '../texts.ts';
import { Details, RelativeTime, Untrusted } from '../ui/facts.tsx';
import { detectSignOut } from './actions.tsx';
import { sentencesOf } from './key-request.ts';

/** The scopes and resources that keys and sessions can be limited to, once loaded. */
export const known = signal<ScopeList>({ scopes: [], resources: [] });

/** Not in the list of the service, because some clients ask for every scope there. */
export const identity: DescribedScope = {
  name: 'identity',
  description: texts.common.scopes.identity,
  service: null,
};

export async function loadKnownScopes(): Promise<Problem | undefined> {
  const list = await detectSignOut(call('listScopes'));
  if (!list.ok) return list.problem;
  known.value = { ...list.value, scopes: [...list.value.scopes, identity] };
  return undefined;
}

/** What a scope allows, in one line; empty if that is nothing. */
export const accessText = (scope: string): string =>
  sentencesOf(scope, known.value).map(escapeInvisible).join(' · ');

/** What a key or run is further limited to, as the services that read it write it. */
export const AccessDetails = ({ of }: { of: Key | Session }) =>
  of.authorization_details ? (
    <Details summary={texts.account.limitedTo}>
      <code translate={false}>
        <bdi>{escapeInvisible(JSON.stringify(of.authorization_details))}</bdi>
      </code>
    </Details>
  ) : null;

/** Names the only service that accepts a key or session. A URI stands for one that is no longer declared. */
export function OnlyService({ resource }: { resource: string | null }) {
  if (resource === null) return null;
  const declared = known.value.resources.find((one) => isSameResource(one.resource, resource));
  const service = declared?.service ?? resource;
  return (
    <span class="badge">
      {fillParts(texts.account.onlyService, { service: <bdi>{escapeInvisible(service)}</bdi> })}
    </span>
  );
}

/** When a key or passkey was last used, if ever, and when it was created. */
export const Use = ({ item }: { item: Pick<Key, 'created_at' | 'last_used_at'> }) => (
  <>
    {item.last_used_at === null
      ? texts.account.neverUsed
      : fillParts(texts.account.lastUsed, { time: <RelativeTime at={item.last_used_at} /> })}
    {' · '}
    {fillParts(texts.account.created, { time: <RelativeTime at={item.created_at} /> })}
  </>
);

/** A line with text that a program supplied. */
export const Claim = ({ label, text }: { label: string; text: string | null }) => (
  <p>{fillParts(texts.account.labelled, { label, value: <Untrusted text={text} /> })}</p>
);
