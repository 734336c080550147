import type { Profile } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { type Signal, signal } from '@preact/signals';
import { getTaggedProfile, type Problem, updateProfile } from '../api.ts';
import { explain } from '../error-messages.ts';
import { followLanguage } from '../follow-language.ts';
import { setPageUser } from '../page-user.ts';
import { tabNote } from '../tab-note.ts';
import { fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { NameField, PlainField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { hideToast, showToast } from '../ui/toast.tsx';
import { runAction } from './actions.tsx';
import { ChangeEmail } from './change-email.tsx';
import { fields, mergeEdits, patchOf, type Texts, textsOf } from './profile-edits.ts';

const profile = signal<Profile | undefined>(undefined);
let tag = '';

const isOpen = signal(false);
const typed = Object.fromEntries(fields.map((field) => [field, signal('')])) as Record<
  keyof Texts,
  Signal<string>
>;
/** The stored values when the form was opened, or at the last merge with a concurrent change. */
let base: Texts;
/** Stored values that conflict with what was typed. */
const conflicts = signal<Partial<Texts>>({});
const error = signal('');
const wrongField = signal<keyof Texts | undefined>(undefined);
const busy = busyState();

/** The profile as it is stored, once loaded. */
export const shownProfile = (): Profile | undefined => profile.value;

const words = texts.account.profile;
const messages = { precondition_failed: words.changed };
const fieldErrors: Texts = words.errors;
const { enterName } = texts.account;
/** Left for this page when it reloads in the language that was saved. */
const savedNote = tabNote('profile-saved');

/** Loads the profile and returns any problem. */
export async function loadProfile(): Promise<Problem | undefined> {
  const result = await getTaggedProfile();
  if (!result.ok) return result.problem;
  show(result.value);
  return undefined;
}

/** Confirms, in its own language, what was saved before the page reloaded in it. */
export function confirmSaved(): void {
  if (savedNote.read() === null) return;
  savedNote.remove();
  showToast(words.saved);
}

function show(stored: { readonly profile: Profile; readonly tag: string }): void {
  ({ profile: profile.value, tag } = stored);
  setPageUser(stored.profile);
}

const currentTexts = (): Texts => ({
  name: typed.name.value.trim(),
  locale: typed.locale.value.trim(),
  time_zone: typed.time_zone.value.trim(),
});

function open(stored: Profile): void {
  base = textsOf(stored);
  for (const field of fields) typed[field].value = base[field];
  conflicts.value = {};
  error.value = '';
  wrongField.value = undefined;
  hideToast();
  isOpen.value = true;
}

function close(message: string): void {
  isOpen.value = false;
  if (message !== '') showToast(message);
  requestAnimationFrame(() => document.getElementById('edit-profile')?.focus());
}

const save = () =>
  busy.run(async () => {
    error.value = '';
    wrongField.value = undefined;
    const texts = currentTexts();
    if (texts.name === '') {
      wrongField.value = 'name';
      error.value = enterName;
      return undefined;
    }
    const patch = patchOf(texts, base);
    if (Object.keys(patch).length === 0) {
      close('');
      return undefined;
    }
    const saved = await runAction(() => updateProfile(patch, tag));
    if (saved.ok) {
      show(saved.value);
      if (followLanguage(saved.value.profile.locale)) {
        savedNote.leave('1');
        return 'leaving';
      }
      close(words.saved);
    } else if (saved.problem.code === 'precondition_failed') {
      await mergeStored(texts);
    } else {
      const { code, message } = saved.problem;
      wrongField.value =
        code === 'invalid_request' ? fields.find((field) => message?.startsWith(`${field}:`)) : undefined;
      error.value = wrongField.value ? fieldErrors[wrongField.value] : explain(saved.problem, messages);
    }
    return undefined;
  });

/** Merges a concurrent change into the form. Asks about fields changed on both sides. */
async function mergeStored(texts: Texts): Promise<void> {
  const problem = await loadProfile();
  if (problem || !profile.value) {
    error.value = explain(problem ?? { code: 'server_error' });
    return;
  }
  const stored = textsOf(profile.value);
  const merged = mergeEdits(texts, base, stored);
  base = stored;
  for (const field of fields) typed[field].value = merged.texts[field];
  conflicts.value = merged.conflicts;
  // Nothing left to save: an earlier save succeeded but its response was lost.
  if (Object.keys(patchOf(merged.texts, stored)).length === 0) close(words.saved);
  else error.value = messages.precondition_failed;
}

const hints: Partial<Texts> = words.hints;

function StoredValue({ field }: { field: keyof Texts }) {
  const stored = conflicts.value[field];
  if (stored === undefined) return null;
  return (
    <p class="stored-value caution">
      {fillParts(words.stored, {
        value: stored === '' ? words.notSet : <bdi>{escapeInvisible(stored)}</bdi>,
      })}
    </p>
  );
}

function EditForm() {
  const propsOf = (field: keyof Texts) => ({
    id: `edit-${field}`,
    label: words[field],
    value: typed[field],
    error: wrongField.value === field ? error.value : '',
    errorId: 'profile-error',
    ...(hints[field] === undefined ? {} : { hint: hints[field] }),
  });
  const browserTimeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Form onSubmit={save}>
      <ErrorMessage id="profile-error" text={error.value} />
      <NameField {...propsOf('name')} takesFocus maxLength={fieldLimits.profileName} />
      <StoredValue field="name" />
      <PlainField {...propsOf('locale')} isOptional list="locales" maxLength={fieldLimits.locale} />
      <datalist id="locales">
        {navigator.languages.map((language) => (
          <option key={language} value={language} />
        ))}
      </datalist>
      <StoredValue field="locale" />
      <PlainField {...propsOf('time_zone')} isOptional list="time-zones" maxLength={fieldLimits.timeZone} />
      <datalist id="time-zones">
        {[...new Set([browserTimeZone, ...Intl.supportedValuesOf('timeZone')])].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <StoredValue field="time_zone" />
      <div class="row">
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? texts.common.busy : texts.account.save}
        </button>
        <button type="button" disabled={busy.now.value} onClick={() => close('')}>
          {texts.common.cancel}
        </button>
      </div>
    </Form>
  );
}

const Text = ({ value }: { value: string | null }) =>
  value === null ? <span class="missing">{words.notSet}</span> : <bdi>{escapeInvisible(value)}</bdi>;

const Values = ({ shown }: { shown: Profile }) => (
  <dl class="values">
    <dt>{words.email}</dt>
    <dd id="profile-email">
      <bdi>{shown.email}</bdi>
    </dd>
    {isOpen.value
      ? null
      : fields.map((field) => [
          <dt key={`${field}-label`}>{words[field]}</dt>,
          <dd key={field} id={`profile-${field}`}>
            <Text value={shown[field]} />
          </dd>,
        ])}
  </dl>
);

/** Shows and edits the profile. */
export function ProfileSection() {
  const shown = profile.value;
  if (shown === undefined) return null;
  return (
    <section class="card" aria-labelledby="profile-heading">
      <div class="section-head">
        <h2 id="profile-heading" tabIndex={-1}>
          {texts.account.sections.profile}
        </h2>
        {isOpen.value ? null : (
          <button type="button" id="edit-profile" onClick={() => open(shown)}>
            {words.edit}
          </button>
        )}
      </div>
      <Values shown={shown} />
      {isOpen.value ? <EditForm /> : null}
      <ChangeEmail />
    </section>
  );
}
