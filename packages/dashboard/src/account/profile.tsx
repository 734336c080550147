import type { Profile } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { type Signal, signal } from '@preact/signals';
import { getTaggedProfile, type Problem, updateProfile } from '../api.ts';
import { explain } from '../error-messages.ts';
import { setPageUser } from '../page-user.ts';
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

const messages = {
  precondition_failed:
    "Your profile was changed somewhere else, so your changes weren't saved. They're still here, with the current values below them. Save again to keep yours.",
};
const fieldErrors: Texts = {
  name: "That name can't be used. Use at least one visible character.",
  locale: "That isn't a valid language tag. Use a tag like en or de-CH.",
  time_zone: "That isn't a valid time zone. Use a name like Europe/Zurich.",
};

/** Loads the profile and returns any problem. */
export async function loadProfile(): Promise<Problem | undefined> {
  const result = await getTaggedProfile();
  if (!result.ok) return result.problem;
  show(result.value);
  return undefined;
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
      error.value = 'Enter a name.';
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
      close('Profile saved.');
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
  if (Object.keys(patchOf(merged.texts, stored)).length === 0) close('Profile saved.');
  else error.value = messages.precondition_failed;
}

const hints: Partial<Texts> = {
  locale:
    'A language tag, such as en or de-CH. Decides how dates and times are written. Leave blank for none.',
  time_zone: 'Such as Europe/Zurich. Decides the times you see here and in emails. Leave blank for none.',
};

function StoredValue({ field }: { field: keyof Texts }) {
  const stored = conflicts.value[field];
  if (stored === undefined) return null;
  return (
    <p class="stored-value caution">
      Current value: {stored === '' ? 'Not set' : <bdi>{escapeInvisible(stored)}</bdi>}
    </p>
  );
}

function EditForm() {
  const propsOf = (field: keyof Texts) => ({
    id: `edit-${field}`,
    label: labels[field],
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
          {busy.now.value ? 'One moment…' : 'Save'}
        </button>
        <button type="button" disabled={busy.now.value} onClick={() => close('')}>
          Cancel
        </button>
      </div>
    </Form>
  );
}

const labels: Texts = {
  name: 'Name',
  locale: 'Language',
  time_zone: 'Time zone',
};

const Text = ({ value }: { value: string | null }) =>
  value === null ? <span class="missing">Not set</span> : <bdi>{escapeInvisible(value)}</bdi>;

const Values = ({ shown }: { shown: Profile }) => (
  <dl class="values">
    <dt>Email</dt>
    <dd id="profile-email">
      <bdi>{shown.email}</bdi>
    </dd>
    {isOpen.value
      ? null
      : fields.map((field) => [
          <dt key={`${field}-label`}>{labels[field]}</dt>,
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
          Profile
        </h2>
        {isOpen.value ? null : (
          <button type="button" id="edit-profile" onClick={() => open(shown)}>
            Edit profile
          </button>
        )}
      </div>
      <Values shown={shown} />
      {isOpen.value ? <EditForm /> : null}
      <ChangeEmail />
    </section>
  );
}
