import { emptyScopes } from '@latchkey/contract/empty-scopes';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CreatedKey, ScopeList } from '@latchkey/contract/keys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { createKey } from '../api.ts';
import { explain } from '../error-messages.ts';
import { count } from '../format.ts';
import { productName } from '../product.ts';
import { busyState } from '../ui/busy.ts';
import { NameField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Icon } from '../ui/icon.tsx';
import { copyIcon } from '../ui/icons.ts';
import { ErrorMessage, StatusMessage, Warning } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';
import {
  emptyRequest,
  everything,
  type KeyRequest,
  lifetimes,
  newKeyOf,
  problemWith,
  requestedKey,
  unknownScopes,
} from './key-request.ts';

const requested = requestedKey(new URLSearchParams(location.search), {
  name: fieldLimits.keyName,
  minSeconds: fieldLimits.keyMinSeconds,
  maxSeconds: fieldLimits.keyMaxSeconds,
});

/** Whether the page was opened by a link that asks for a key. */
export const isRequested = requested !== undefined;

/** What the form was opened with; undefined while it is closed. */
const initial = signal<KeyRequest | undefined>(requested);
const name = signal(requested?.name ?? '');
const scopes = signal<readonly string[]>(requested?.scopes ?? []);
const resource = signal(requested?.resource ?? '');
const expiresInSeconds = signal(requested?.expiresInSeconds ?? emptyRequest.expiresInSeconds);
/** The key that was just created. Only in memory, and only until the person closes it. */
const created = signal<CreatedKey | undefined>(undefined);
const error = signal('');
const errorField = signal<'name' | 'scope' | undefined>(undefined);
const copied = signal('');
const busy = busyState<'create'>();

export const isFormOpen = () => initial.value !== undefined;
export const isKeyShown = () => created.value !== undefined;

const messages = {
  conflict: `You've reached the limit of ${fieldLimits.keys} keys. Remove one you no longer use, then try again.`,
  invalid_request: "That name can't be used. Try another one.",
  invalid_scope: 'A service no longer offers something you ticked. Reload the page and choose again.',
  invalid_target: "That service isn't known here. Choose where the key works.",
  unreachable: `Couldn't reach ${productName}. Check your connection. If the key appears in the list, remove it and create a new one.`,
};

const problems = {
  name: 'Enter a name.',
  scope: 'Choose what the key may do.',
  unknown: 'Untick what no service here offers.',
};

export function openForm(): void {
  initial.value = emptyRequest;
  name.value = '';
  scopes.value = [];
  resource.value = '';
  expiresInSeconds.value = emptyRequest.expiresInSeconds;
  error.value = '';
  errorField.value = undefined;
}

/** A reload must not fill in the form again. */
const forgetRequest = () => history.replaceState(history.state, '', location.pathname);

function closeForm(): void {
  initial.value = undefined;
  if (isRequested) forgetRequest();
  requestAnimationFrame(() => document.getElementById('create-key')?.focus());
}

const create = (known: ScopeList, onCreated: (key: CreatedKey) => void) =>
  busy.run(async () => {
    error.value = '';
    errorField.value = undefined;
    const request = {
      name: name.value,
      scopes: scopes.value,
      resource: resource.value,
      expiresInSeconds: expiresInSeconds.value,
    };
    const problem = problemWith(request, known);
    if (problem !== undefined) {
      error.value = problems[problem];
      errorField.value = problem === 'name' ? 'name' : 'scope';
      return undefined;
    }
    const result = await runAction(() => createKey(newKeyOf(request)));
    if (!result.ok) {
      if (result.problem.code === 'invalid_request') errorField.value = 'name';
      error.value = explain(result.problem, messages);
      return undefined;
    }
    created.value = result.value;
    copied.value = '';
    initial.value = undefined;
    if (isRequested) forgetRequest();
    onCreated(result.value);
    return undefined;
  }, 'create');

interface OptionProps {
  readonly scope: string;
  readonly isDisabled?: boolean;
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

function Option({ scope, isDisabled = false, takesFocus = false, children }: OptionProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (takesFocus) input.current?.focus();
  }, [takesFocus]);
  return (
    <label class="option">
      <input
        ref={input}
        type="checkbox"
        name="key-scope"
        value={scope}
        checked={scopes.value.includes(scope)}
        disabled={isDisabled}
        onChange={(event) => {
          const others = scopes.value.filter((one) => one !== scope);
          scopes.value = event.currentTarget.checked ? [...others, scope] : others;
        }}
      />
      <span>{children}</span>
    </label>
  );
}

/** The scopes to tick. Those that allow nothing are left out, unknown ones that were asked for are not. */
function ScopeOptions({ known }: { known: ScopeList }) {
  const hasEverything = scopes.value.includes(everything);
  const offered = known.scopes.filter(({ name }) => !emptyScopes.includes(name));
  const unknown = unknownScopes(initial.value?.scopes ?? [], known);
  return (
    <fieldset {...(errorField.value === 'scope' ? { 'aria-describedby': 'new-key-error' } : {})}>
      <legend>What it may do</legend>
      <Option scope={everything} takesFocus={errorField.value === 'scope'}>
        Everything you can do
      </Option>
      {offered.map((scope) => (
        <Option key={scope.name} scope={scope.name} isDisabled={hasEverything}>
          {escapeInvisible(scope.description)}
          {scope.service === null ? null : (
            <span class="hint">
              {' '}
              <bdi>{escapeInvisible(scope.service)}</bdi>
            </span>
          )}
        </Option>
      ))}
      {unknown.map((scope) => (
        <Option key={scope} scope={scope} isDisabled={hasEverything}>
          <code>
            <bdi>{escapeInvisible(scope)}</bdi>
          </code>{' '}
          <span class="caution">Unknown: no service here offers this.</span>
        </Option>
      ))}
    </fieldset>
  );
}

interface SelectProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly onChange: (value: string) => void;
}

const Select = ({ id, label, value, options, onChange }: SelectProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <select id={id} name={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value} selected={option.value === value}>
          {option.text}
        </option>
      ))}
    </select>
  </div>
);

/** Where the key works. An unknown resource that was asked for stays, so that the key does not become wider. */
function ResourceField({ known }: { known: ScopeList }) {
  const asked = initial.value?.resource ?? '';
  const isUnknown = asked !== '' && !known.resources.some((one) => one.resource === asked);
  if (known.resources.length === 0 && !isUnknown) return null;
  const options = [
    { value: '', text: `${productName} and every service` },
    ...known.resources.map(({ resource, service }) => ({
      value: resource,
      text: escapeInvisible(`Only ${service} (${resource})`),
    })),
    ...(isUnknown ? [{ value: asked, text: escapeInvisible(`Unknown service (${asked})`) }] : []),
  ];
  return (
    <Select
      id="key-resource"
      label="Where it works"
      value={resource.value}
      options={options}
      onChange={(value) => {
        resource.value = value;
      }}
    />
  );
}

function lifetimeText(seconds: number): string {
  if (seconds === 365 * 86_400) return '1 year';
  if (seconds % 86_400 === 0) return count(seconds / 86_400, 'day');
  return seconds % 3_600 === 0 ? count(seconds / 3_600, 'hour') : count(Math.ceil(seconds / 60), 'minute');
}

function LifetimeField() {
  const asked = initial.value?.expiresInSeconds ?? emptyRequest.expiresInSeconds;
  const seconds = [...new Set<number>([...lifetimes, asked])].sort((one, other) => one - other);
  return (
    <Select
      id="key-lifetime"
      label="Expires after"
      value={String(expiresInSeconds.value)}
      options={seconds.map((value) => ({ value: String(value), text: lifetimeText(value) }))}
      onChange={(value) => {
        expiresInSeconds.value = Number(value);
      }}
    />
  );
}

interface NewKeyProps {
  readonly known: ScopeList;
  readonly onCreated: (key: CreatedKey) => void;
}

/** The form for a new key. */
export function NewKeyForm({ known, onCreated }: NewKeyProps) {
  return (
    <section class="offer" aria-labelledby="new-key-heading">
      <h3 id="new-key-heading">New key</h3>
      {initial.value === requested ? (
        <p>
          A program or a link filled this in. Create the key only if you asked for it, and check what it may
          do.
        </p>
      ) : null}
      <ErrorMessage id="new-key-error" text={error.value} />
      <Form onSubmit={() => create(known, onCreated)}>
        <NameField
          id="key-name"
          label="Name"
          hint="So that you recognize it later, such as the program that will use it."
          value={name}
          error={errorField.value === 'name' ? error.value : ''}
          errorId="new-key-error"
          takesFocus
          maxLength={fieldLimits.keyName}
        />
        <ScopeOptions known={known} />
        <ResourceField known={known} />
        <LifetimeField />
        <div class="row">
          <button type="submit" class="primary" disabled={busy.now.value}>
            {busy.label('create', 'Create key')}
          </button>
          <button type="button" disabled={busy.now.value} onClick={closeForm}>
            Cancel
          </button>
        </div>
      </Form>
    </section>
  );
}

async function copy(key: string, field: HTMLInputElement | null): Promise<void> {
  try {
    await navigator.clipboard.writeText(key);
    copied.value = 'Copied.';
  } catch {
    field?.select();
    copied.value = "Your browser didn't allow copying. The key is selected: copy it with your keyboard.";
  }
}

/** The key that was just created, which nothing can show again. */
export function CreatedKeyView() {
  const heading = useRef<HTMLHeadingElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const key = created.value;
  if (key === undefined) return null;
  return (
    <section class="offer" aria-labelledby="created-key-heading">
      <h3 id="created-key-heading" ref={heading} tabIndex={-1}>
        Key created: <bdi>{escapeInvisible(key.name)}</bdi>
      </h3>
      <Warning>
        Copy the key now: you won't see it again. Anyone who has it can use it until it expires or you remove
        it. Keep it like a password.
      </Warning>
      <label for="created-key">Your new key</label>
      <input
        ref={field}
        id="created-key"
        class="secret"
        type="text"
        readOnly
        autoComplete="off"
        spellcheck={false}
        value={key.key}
        onFocus={(event) => event.currentTarget.select()}
      />
      <StatusMessage>{copied.value}</StatusMessage>
      <div class="row">
        <button type="button" class="primary" onClick={() => void copy(key.key, field.current)}>
          <Icon path={copyIcon} />
          Copy key
        </button>
        <button
          type="button"
          onClick={() => {
            created.value = undefined;
            copied.value = '';
            requestAnimationFrame(() => document.getElementById('create-key')?.focus());
          }}
        >
          I've stored it
        </button>
      </div>
    </section>
  );
}
