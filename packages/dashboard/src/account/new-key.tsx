import { emptyScopes } from '@latchkey/contract/empty-scopes';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CreatedKey, ScopeList } from '@latchkey/contract/keys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { inUnits } from '../format.ts';
import { scopeText } from '../scope-text.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { Choice, Form } from '../ui/form.tsx';
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

const requested = requestedKey(new URLSearchParams(location.search));

/** Whether a link with a prefilled key opened the page. */
export const isRequested = requested !== undefined;

/** What the form was opened with; undefined while it is closed. */
const initial = signal<KeyRequest | undefined>(requested);
const name = signal(requested?.name ?? '');
const scopes = signal<readonly string[]>(requested?.scopes ?? []);
const resource = signal(requested?.resource ?? '');
const expiresInSeconds = signal(String(requested?.expiresInSeconds ?? emptyRequest.expiresInSeconds));
const isSecretless = signal(requested?.trust !== undefined);
const issuer = signal(requested?.trust?.issuer ?? '');
const claims = signal(requested?.trust?.claims ?? '');
/** The key that was just created. Only in memory, and only until the person closes it. */
const created = signal<CreatedKey | undefined>(undefined);
const errorField = signal<'name' | 'scope' | 'issuer' | 'claims' | undefined>(undefined);
const copied = signal('');
const busy = busyState();
const { error } = busy;

export const isFormOpen = () => initial.value !== undefined;
export const isKeyShown = () => created.value !== undefined;

const words = texts.account.keys;

const messages = {
  conflict: fill(words.limit, { limit: String(fieldLimits.keys) }),
  invalid_request: texts.account.badName,
  invalid_scope: words.scopeGone,
  invalid_target: words.resourceGone,
  unreachable: fill(words.unreachable),
};

const problems = {
  name: texts.account.enterName,
  scope: words.chooseScope,
  unknown: words.untick,
  issuer: words.enterTrust,
  claims: words.enterTrust,
};

export function openForm(): void {
  initial.value = emptyRequest;
  name.value = '';
  scopes.value = [];
  resource.value = '';
  expiresInSeconds.value = String(emptyRequest.expiresInSeconds);
  isSecretless.value = false;
  issuer.value = '';
  claims.value = '';
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
    errorField.value = undefined;
    const request = {
      name: name.value,
      scopes: scopes.value,
      resource: resource.value,
      expiresInSeconds: Number(expiresInSeconds.value),
      trust: isSecretless.value ? { issuer: issuer.value, claims: claims.value } : undefined,
    };
    const problem = problemWith(request, known);
    if (problem !== undefined) {
      error.value = problems[problem];
      errorField.value = problem === 'unknown' ? 'scope' : problem;
      return undefined;
    }
    const result = await runAction(() => call('createKey', { body: newKeyOf(request) }));
    if (!result.ok) {
      const { code, message = '' } = result.problem;
      const [, untrusted] = /^trust\.(issuer|claims)/.exec(message) ?? [];
      if (code === 'invalid_request')
        errorField.value = (untrusted as 'issuer' | 'claims' | undefined) ?? 'name';
      error.value =
        untrusted === undefined
          ? explain(result.problem, messages)
          : fill(words.badTrust, { reason: message });
      return undefined;
    }
    created.value = result.value.key === undefined ? undefined : result.value;
    copied.value = '';
    initial.value = undefined;
    if (isRequested) forgetRequest();
    onCreated(result.value);
    return undefined;
  });

interface OptionProps {
  readonly scope: string;
  readonly isDisabled?: boolean;
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

function Option({ scope, isDisabled = false, takesFocus = false, children }: OptionProps) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
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

/** The scopes to select: without those that allow nothing, with unknown ones that the link requests. */
function ScopeOptions({ known }: { known: ScopeList }) {
  const hasEverything = scopes.value.includes(everything);
  const offered = known.scopes.filter(({ name }) => !emptyScopes.includes(name));
  const unknown = unknownScopes(initial.value?.scopes ?? [], known);
  return (
    <fieldset {...(errorField.value === 'scope' ? { 'aria-describedby': 'new-key-error' } : {})}>
      <legend>{words.scope}</legend>
      <Option scope={everything} takesFocus={errorField.value === 'scope'}>
        {texts.common.everything}
      </Option>
      {offered.map((scope) => (
        <Option key={scope.name} scope={scope.name} isDisabled={hasEverything}>
          {escapeInvisible(scopeText(scope))}
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
          <span class="caution">{words.unknownScope}</span>
        </Option>
      ))}
    </fieldset>
  );
}

/** Where the key works. An unknown resource of the link stays, so that the key does not become wider. */
function ResourceField({ known }: { known: ScopeList }) {
  const asked = initial.value?.resource ?? '';
  const isUnknown = asked !== '' && !known.resources.some((one) => one.resource === asked);
  if (known.resources.length === 0 && !isUnknown) return null;
  const options = [
    { value: '', text: fill(words.everyService) },
    ...known.resources.map(({ resource, service }) => ({
      value: resource,
      text: escapeInvisible(fill(words.onlyService, { service, resource })),
    })),
    ...(isUnknown
      ? [{ value: asked, text: escapeInvisible(fill(words.unknownService, { resource: asked })) }]
      : []),
  ];
  return <SelectField id="key-resource" label={words.resource} value={resource} options={options} />;
}

function lifetimeText(seconds: number): string {
  if (seconds === 365 * 86_400) return inUnits(1, 'year');
  if (seconds % 86_400 === 0) return inUnits(seconds / 86_400, 'day');
  return seconds % 3_600 === 0
    ? inUnits(seconds / 3_600, 'hour')
    : inUnits(Math.ceil(seconds / 60), 'minute');
}

function LifetimeField() {
  const asked = initial.value?.expiresInSeconds ?? emptyRequest.expiresInSeconds;
  const seconds = [...new Set<number>([...lifetimes, asked])].sort((one, other) => one - other);
  return (
    <SelectField
      id="key-lifetime"
      label={words.lifetime}
      value={expiresInSeconds}
      options={seconds.map((value) => ({ value: String(value), text: lifetimeText(value) }))}
    />
  );
}

/** Which tokens stand for a key without a secret. */
function TrustFields() {
  const isWrong = errorField.value === 'claims';
  const input = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (isWrong) input.current?.focus();
  }, [isWrong]);
  return (
    <>
      <label class="option">
        <input
          id="key-secretless"
          type="checkbox"
          checked={isSecretless.value}
          onChange={(event) => {
            isSecretless.value = event.currentTarget.checked;
          }}
        />
        <span>{words.secretless}</span>
      </label>
      {isSecretless.value ? (
        <>
          <Warning>{words.jobsActAsYou}</Warning>
          <TextField
            id="key-issuer"
            label={words.issuer}
            hint={words.issuerHint}
            value={issuer}
            error={errorField.value === 'issuer' ? error.value : ''}
            errorId="new-key-error"
            maxLength={fieldLimits.issuer}
          />
          <div class="field">
            <label for="key-claims">{words.claims}</label>
            <p class="hint" id="key-claims-hint">
              {words.claimsHint}
            </p>
            <textarea
              ref={input}
              id="key-claims"
              name="key-claims"
              rows={4}
              required
              spellcheck={false}
              autoCapitalize="none"
              aria-invalid={isWrong}
              aria-describedby={`key-claims-hint${isWrong ? ' new-key-error' : ''}`}
              value={claims.value}
              onInput={(event) => {
                claims.value = event.currentTarget.value;
              }}
            />
          </div>
        </>
      ) : null}
    </>
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
      <h3 id="new-key-heading">{words.heading}</h3>
      {initial.value === requested ? <p>{words.requested}</p> : null}
      <ErrorMessage id="new-key-error" text={error.value} />
      <Form onSubmit={() => create(known, onCreated)}>
        <TextField
          id="key-name"
          label={texts.account.profile.name}
          hint={words.nameHint}
          value={name}
          error={errorField.value === 'name' ? error.value : ''}
          errorId="new-key-error"
          takesFocus
          maxLength={fieldLimits.keyName}
        />
        <ScopeOptions known={known} />
        <ResourceField known={known} />
        <LifetimeField />
        <TrustFields />
        <Choice busy={busy} label={words.create} onCancel={closeForm} />
      </Form>
    </section>
  );
}

async function copy(key: string, field: HTMLInputElement | null): Promise<void> {
  try {
    await navigator.clipboard.writeText(key);
    copied.value = words.copied;
  } catch {
    field?.select();
    copied.value = words.notCopied;
  }
}

/** The key that was just created, which nothing can show again. */
export function CreatedKeyView() {
  const heading = useRef<HTMLHeadingElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const key = created.value;
  if (key === undefined) return null;
  return (
    <section class="offer" aria-labelledby="created-key-heading">
      <h3 id="created-key-heading" ref={heading} tabIndex={-1}>
        {fillParts(words.created, { name: <bdi>{escapeInvisible(key.name)}</bdi> })}
      </h3>
      <Warning>{words.copyNow}</Warning>
      <label for="created-key">{words.newKey}</label>
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
        <button type="button" class="primary" onClick={() => void copy(key.key ?? '', field.current)}>
          <Icon path={copyIcon} />
          {words.copy}
        </button>
        <button
          type="button"
          onClick={() => {
            created.value = undefined;
            copied.value = '';
            requestAnimationFrame(() => document.getElementById('create-key')?.focus());
          }}
        >
          {words.stored}
        </button>
      </div>
    </section>
  );
}
