import type { CreatedKey, Key } from '@latchkey/contract/keys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { listKeys, type Problem, removeKey } from '../api.ts';
import { explain } from '../error-messages.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { sentencesOf } from './key-request.ts';
import { known, loadKnownScopes, serviceOf } from './known-scopes.ts';
import { CreatedKeyView, isFormOpen, isKeyShown, NewKeyForm, openForm } from './new-key.tsx';
import { focusHeading, Section, SectionContent, sectionData } from './section.tsx';

const keys = signal<readonly Key[]>([]);
/** The id of the key whose removal has to be confirmed. */
const removing = signal<string | undefined>(undefined);
const error = signal('');
const status = signal('');
const busy = busyState();

async function loadKeys(): Promise<Problem | undefined> {
  const [list, problem] = await Promise.all([listKeys(), loadKnownScopes()]);
  const checked = detectSignOut(list);
  if (!checked.ok) return checked.problem;
  keys.value = checked.value.keys;
  return problem;
}

export const keysData = sectionData('keys', 'Your keys', loadKeys);

function add({ key: _, ...created }: CreatedKey): void {
  keys.value = [created, ...keys.value];
  status.value = '';
  error.value = '';
}

const remove = (removed: Key) =>
  busy.run(async () => {
    error.value = '';
    status.value = '';
    const result = await runAction(() => removeKey(removed.id));
    // A key that is already gone counts as removed.
    if (!result.ok && result.problem.code !== 'not_found') {
      error.value = explain(result.problem);
      return undefined;
    }
    keys.value = keys.value.filter(({ id }) => id !== removed.id);
    removing.value = undefined;
    status.value = `Key removed: ${removed.name}. Programs can no longer use it.`;
    focusHeading('keys');
    return undefined;
  });

function cancelRemoval(id: string): void {
  removing.value = undefined;
  requestAnimationFrame(() => document.getElementById(`remove-${id}`)?.focus());
}

function RemoveQuestion({ item }: { item: Key }) {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <>
      <p ref={question} tabIndex={-1} class="warning">
        Remove <bdi>{escapeInvisible(item.name)}</bdi>? Programs that use it stop working at once. This can't
        be undone.
      </p>
      <div class="row">
        <button type="button" disabled={busy.now.value} onClick={() => void remove(item)}>
          Remove key
        </button>
        <button type="button" disabled={busy.now.value} onClick={() => cancelRemoval(item.id)}>
          Cancel
        </button>
      </div>
    </>
  );
}

function Item({ item }: { item: Key }) {
  const title = `key-${item.id}`;
  return (
    <li class="passkey" data-key={item.id} aria-labelledby={title}>
      <p id={title}>
        <strong>
          <bdi>{escapeInvisible(item.name)}</bdi>
        </strong>{' '}
        {item.resource === null ? null : (
          <span class="badge">
            Only <bdi>{escapeInvisible(serviceOf(item.resource))}</bdi>
          </span>
        )}
      </p>
      <p>{sentencesOf(item.scope, known.value).map(escapeInvisible).join(' · ') || 'Nothing'}</p>
      <p class="quiet">
        Created <Timestamp at={item.created_at} /> ·{' '}
        {item.last_used_at === null ? (
          'Never used'
        ) : (
          <>
            Last used <Timestamp at={item.last_used_at} />
          </>
        )}{' '}
        · Expires <Timestamp at={item.expires_at} />
      </p>
      {removing.value === item.id ? (
        <RemoveQuestion item={item} />
      ) : (
        <button
          type="button"
          id={`remove-${item.id}`}
          class="plain"
          disabled={busy.now.value}
          aria-describedby={title}
          onClick={() => {
            removing.value = item.id;
          }}
        >
          Remove
        </button>
      )}
    </li>
  );
}

/** Lists, creates and removes the account's keys. */
export function Keys() {
  return (
    <Section data={keysData} title="Keys">
      <ErrorMessage id="keys-error" text={error.value} />
      <StatusMessage id="keys-status">{status.value}</StatusMessage>
      <SectionContent data={keysData} entries={1}>
        {isKeyShown() ? <CreatedKeyView /> : null}
        {keys.value.length === 0 && !isFormOpen() ? (
          <p class="quiet">
            No keys. With a key, a program such as a build can act as you without you signing in.
          </p>
        ) : null}
        {keys.value.length === 0 ? null : (
          <ul id="keys" class="plain-list" aria-labelledby="keys-heading">
            {keys.value.map((item) => (
              <Item key={item.id} item={item} />
            ))}
          </ul>
        )}
        {isFormOpen() ? <NewKeyForm known={known.value} onCreated={add} /> : null}
        {isFormOpen() || isKeyShown() ? null : (
          <button type="button" id="create-key" disabled={busy.now.value} onClick={openForm}>
            Create a key
          </button>
        )}
      </SectionContent>
    </Section>
  );
}
