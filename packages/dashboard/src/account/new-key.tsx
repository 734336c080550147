import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CreatedKey } from '@latchkey/contract/keys';
import { emptyScopes, everything, isSameResource, onlyByName } from '@latchkey/contract/scope-names';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import type { ComponentChildren, PartialInputHTMLAttributes } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { touchErrors, withTouch } from '../approval/touch.ts';
import { explain } from '../error-messages.ts';
import { inUnits } from '../format.ts';
import { ScopeText } from '../scope-text.tsx';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button, ErrorMessage, focusAgain, Icon, StatusMessage, useFocus, Warning } from '../ui/elements.tsx';
import { Choice, Form, Labelled, SelectField, TextField } from '../ui/form.tsx';
import { copyIcon } from '../ui/icons.ts';
import { runAction } from './actions.tsx';
import {
  emptyRequest,
  type KeyRequest,
  lifetimes,
  missingClaim,
  newKeyOf,
  problemWith,
  requestedKey,
  unknownScopes,
} from './key-request.ts';
import { identity, known } from './parts.tsx';
import { hasPasskeys } from './passkeys.tsx';

const requested = requestedKey(new URLSearchParams(location.search));

/** Whether a link with a prefilled key opened the page. */
export const isRequested = requested !== undefined;

/** What the form was opened with, and what the person made of it. */
const formOf = (opened: KeyRequest) => ({
  opened,
  name: signal(opened.name),
  scopes: signal(opened.scopes),
  resource: signal(opened.resource),
  expiresInSeconds: signal(String(opened.expiresInSeconds)),
  isSecretless: signal(opened.trust !== undefined),
  issuer: signal(opened.trust?.issuer ?? ''),
  claims: signal(opened.trust?.claims ?? ''),
});

type KeyForm = ReturnType<typeof formOf>;

const openedForm = signal(requested && formOf(requested));
/** The key that was just created. Only in memory, and only until the person closes it. */
const created = signal<CreatedKey | undefined>(undefined);
const busy = busyState<'name' | 'scope' | 'issuer' | 'claims'>();

export const isFormOpen = () => openedForm.value !== undefined;
export const isKeyShown = () => created.value !== undefined;

const words = texts.account.keys;

const messages = {
  ...touchErrors,
  invalid_grant: texts.errors.touch.refused,
  conflict: fill(words.limit, { limit: String(fieldLimits.keys) }),
  invalid_request: texts.account.badName,
  invalid_scope: words.scopeGone,
  invalid_target: words.resourceGone,
  unreachable: fill(words.unreachable),
};

// A link from a program may lack what identifies its jobs. The person learns that before filling in the rest.
const lacking = missingClaim(requested?.trust);
if (lacking) busy.fail(lacking);

export function openForm(): void {
  openedForm.value = formOf(emptyRequest);
  busy.error.value = '';
}

function closeForm(): void {
  openedForm.value = undefined;
  // A reload must not fill in the form again.
  if (isRequested) history.replaceState(history.state, '', location.pathname);
}

const create = (form: KeyForm, onCreated: (key: CreatedKey) => void) =>
  busy.run(async () => {
    const request = {
      name: form.name.value,
      scopes: form.scopes.value,
      resource: form.resource.value,
      expiresInSeconds: Number(form.expiresInSeconds.value),
      trust: form.isSecretless.value ? { issuer: form.issuer.value, claims: form.claims.value } : undefined,
    };
    const problem = problemWith(request, known.value);
    if (problem !== undefined) return problem;
    const body = newKeyOf(request);
    const result = await runAction(() =>
      withTouch(
        hasPasskeys(),
        () => call('challengeKey', { body }),
        (passkey) => call('createKey', { body: { ...body, passkey } }),
      ),
    );
    if (!result.ok) {
      const { code, message = '' } = result.problem;
      const untrusted = /^trust\.(issuer|claims)/.exec(message)?.[1] as 'issuer' | 'claims' | undefined;
      const reason = message.replace(/^trust\.([^:]*):/, '$1');
      if (untrusted) return [untrusted, fill(words.badTrust, { reason })];
      const text = explain(result.problem, messages);
      return code === 'invalid_request' ? ['name', text] : text;
    }
    created.value = result.value.key === undefined ? undefined : result.value;
    closeForm();
    onCreated(result.value);
    return undefined;
  });

type CheckboxProps = Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'type' | 'role'> & {
  readonly takesFocus?: boolean;
};

const Checkbox = ({ takesFocus = false, children, ...props }: CheckboxProps) => (
  <label class="option">
    <input ref={useFocus<HTMLInputElement>(takesFocus)} type="checkbox" {...props} />
    <span>{children}</span>
  </label>
);

/** The scopes to select: without those that allow nothing, with unknown and unlisted ones that the link requests. */
function ScopeOptions({ opened, scopes }: KeyForm) {
  const isWrong = busy.errorOf('scope') !== '';
  const hidden = opened.scopes.includes(identity.name) ? emptyScopes : [...emptyScopes, identity.name];
  const offered = known.value.scopes.filter(({ name }) => !hidden.includes(name));
  const unknown = unknownScopes(opened.scopes, known.value);
  const option = (scope: string, text: ComponentChildren) => (
    <Checkbox
      key={scope}
      name="key-scope"
      value={scope}
      checked={scopes.value.includes(scope)}
      disabled={![everything, ...onlyByName].includes(scope) && scopes.value.includes(everything)}
      takesFocus={scope === everything && isWrong}
      onChange={({ currentTarget: { checked } }) => {
        const others = scopes.value.filter((one) => one !== scope);
        scopes.value = checked ? [...others, scope] : others;
      }}
    >
      {text}
    </Checkbox>
  );
  return (
    <fieldset aria-describedby={isWrong ? 'new-key-error' : undefined}>
      <legend>{words.scope}</legend>
      {offered.map((scope) => option(scope.name, <ScopeText scope={scope} />))}
      {unknown.map((scope) =>
        option(
          scope,
          <>
            <code translate={false}>
              <bdi>{escapeInvisible(scope)}</bdi>
            </code>{' '}
            <span class="caution">{words.unknownScope}</span>
          </>,
        ),
      )}
      <div class="apart">{option(everything, texts.common.everything)}</div>
    </fieldset>
  );
}

/** Where the key works. An unknown resource of the link stays, so that the key does not become wider. */
function ResourceField({ opened, resource: value }: KeyForm) {
  const { resources } = known.value;
  const asked = opened.resource;
  const isUnknown = asked !== '' && !resources.some(({ resource }) => isSameResource(resource, asked));
  if (resources.length === 0 && !isUnknown) return null;
  const options = [
    { value: '', text: fill(words.everyService) },
    ...resources.map(({ resource, service }) => ({
      value: isSameResource(resource, asked) ? asked : resource,
      text: escapeInvisible(fill(words.onlyService, { service, resource })),
    })),
    ...(isUnknown
      ? [{ value: asked, text: escapeInvisible(fill(words.unknownService, { resource: asked })) }]
      : []),
  ];
  return <SelectField id="key-resource" label={words.resource} value={value} options={options} />;
}

function lifetimeText(seconds: number): string {
  if (seconds === 365 * 86_400) return inUnits(1, 'year');
  if (seconds % 86_400 === 0) return inUnits(seconds / 86_400, 'day');
  return seconds % 3_600 === 0
    ? inUnits(seconds / 3_600, 'hour')
    : inUnits(Math.ceil(seconds / 60), 'minute');
}

function LifetimeField({ opened, expiresInSeconds }: KeyForm) {
  const seconds = [...new Set([...lifetimes, opened.expiresInSeconds])].sort((one, other) => one - other);
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
function TrustFields({ issuer, claims }: KeyForm) {
  const isWrong = busy.errorOf('claims') !== '';
  return (
    <>
      <Warning>{words.jobsActAsYou}</Warning>
      <TextField
        id="key-issuer"
        label={words.issuer}
        hint={words.issuerHint}
        value={issuer}
        error={busy.errorOf('issuer')}
        errorId="new-key-error"
        maxLength={fieldLimits.issuer}
      />
      <Labelled id="key-claims" label={words.claims} hint={words.claimsHint}>
        <textarea
          ref={useFocus<HTMLTextAreaElement>(isWrong)}
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
      </Labelled>
    </>
  );
}

/** Takes the focus where a link filled in the form, so that Enter, perhaps still held from another page, does not submit it. */
const FormHeading = ({ takesFocus }: { takesFocus: boolean }) => (
  <h3 id="new-key-heading" ref={useFocus<HTMLHeadingElement>(takesFocus)} tabIndex={-1}>
    {words.heading}
  </h3>
);

export function NewKeyForm({ onCreated }: { onCreated: (key: CreatedKey) => void }) {
  const form = openedForm.value;
  if (form === undefined) return null;
  const { isSecretless } = form;
  const isFilledIn = form.opened === requested;
  return (
    <section class="offer" aria-labelledby="new-key-heading">
      <FormHeading takesFocus={isFilledIn} />
      {isFilledIn ? <p>{words.requested}</p> : null}
      <ErrorMessage id="new-key-error" text={busy.error.value} />
      <Form onSubmit={() => create(form, onCreated)}>
        <TextField
          id="key-name"
          label={texts.account.profile.name}
          hint={words.nameHint}
          value={form.name}
          error={busy.errorOf('name')}
          errorId="new-key-error"
          takesFocus={!isFilledIn}
          maxLength={fieldLimits.keyName}
        />
        <ScopeOptions {...form} />
        <ResourceField {...form} />
        <LifetimeField {...form} />
        <Checkbox
          id="key-secretless"
          checked={isSecretless.value}
          onChange={({ currentTarget }) => {
            isSecretless.value = currentTarget.checked;
          }}
        >
          {words.secretless}
        </Checkbox>
        {isSecretless.value ? <TrustFields {...form} /> : null}
        <Choice
          busy={busy}
          label={hasPasskeys() ? words.createByTouch : words.create}
          isReviewed
          onCancel={() => {
            closeForm();
            focusAgain('create-key');
          }}
        />
      </Form>
    </section>
  );
}

/** The key that was just created, which nothing can show again. */
export function CreatedKeyView() {
  const heading = useFocus<HTMLHeadingElement>();
  const field = useRef<HTMLTextAreaElement>(null);
  const [copied, setCopied] = useState('');
  const key = created.value;
  if (key === undefined) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(key.key ?? '');
      setCopied(words.copied);
    } catch {
      field.current?.select();
      setCopied(words.notCopied);
    }
  };
  const close = () => {
    created.value = undefined;
    focusAgain('create-key');
  };
  return (
    <section class="offer" aria-labelledby="created-key-heading">
      <h3 id="created-key-heading" ref={heading} tabIndex={-1}>
        {fillParts(words.created, { name: <bdi>{escapeInvisible(key.name)}</bdi> })}
      </h3>
      <Warning>{words.copyNow}</Warning>
      <label for="created-key">{words.newKey}</label>
      <textarea
        ref={field}
        id="created-key"
        class="secret"
        rows={4}
        readOnly
        autoComplete="off"
        spellcheck={false}
        value={key.key}
        onFocus={(event) => event.currentTarget.select()}
      />
      <StatusMessage text={copied} />
      <div class="row">
        <Button class="primary" onClick={copy}>
          <Icon path={copyIcon} />
          {words.copy}
        </Button>
        <Button onClick={close}>{words.stored}</Button>
      </div>
    </section>
  );
}
