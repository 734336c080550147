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
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
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
/** What was stored when the form was opened, or when somebody else's change was seen. */
let base: Texts;
/** What others stored in the meantime, where it differs from what was typed. */
const theirs = signal<Partial<Texts>>({});
const error = signal('');
const wrongField = signal<keyof Texts | undefined>(undefined);
const status = signal('');
const busy = busyState();

const words = {
  precondition_failed:
    'The profile was changed somewhere else in the meantime, so nothing was saved yet. What you typed is still here, with what is stored now below it. Save again to keep yours.',
};
const fieldErrors: Texts = {
  name: 'That name cannot be used. It needs at least one visible character.',
  avatar_url: 'That is not the address of a picture. It has to begin with https://.',
  locale: 'That is not a language tag. It should look like en or de-CH.',
  time_zone: 'That is not the name of a time zone. It should look like Europe/Zurich.',
};

/** Fetches the profile; what goes wrong comes back. */
export async function loadProfile(): Promise<Problem | undefined> {
  const result = await getTaggedProfile();
  if (!result.ok) return result.problem;
  ({ profile: profile.value, tag } = result.value);
  setPageUser(result.value.profile);
  return undefined;
}

const currentTexts = (): Texts => ({
  name: typed.name.value.trim(),
  avatar_url: typed.avatar_url.value.trim(),
  locale: typed.locale.value.trim(),
  time_zone: typed.time_zone.value.trim(),
});

function open(stored: Profile): void {
  base = textsOf(stored);
  for (const field of fields) typed[field].value = base[field];
  theirs.value = {};
  error.value = '';
  wrongField.value = undefined;
  status.value = '';
  isOpen.value = true;
}

function close(message: string): void {
  isOpen.value = false;
  status.value = message;
  requestAnimationFrame(() => document.getElementById('edit-profile')?.focus());
}

const save = () =>
  busy.run(async () => {
    error.value = '';
    wrongField.value = undefined;
    const texts = currentTexts();
    if (texts.name === '') {
      wrongField.value = 'name';
      error.value = 'Type a name first.';
      return undefined;
    }
    const patch = patchOf(texts, base);
    if (Object.keys(patch).length === 0) {
      close('');
      return undefined;
    }
    const saved = await runAction(() => updateProfile(patch, tag));
    if (saved.ok) {
      ({ profile: profile.value, tag } = saved.value);
      close('Your profile is saved.');
    } else if (saved.problem.code === 'precondition_failed') {
      await mergeStored(texts);
    } else {
      const { code, message } = saved.problem;
      wrongField.value =
        code === 'invalid_request' ? fields.find((field) => message?.startsWith(`${field}:`)) : undefined;
      error.value = wrongField.value ? fieldErrors[wrongField.value] : explain(saved.problem, words);
    }
    return undefined;
  });

/** Somebody else was faster: what they changed and this person did not is taken over, the rest is asked about. */
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
  theirs.value = merged.conflicts;
  // An answer that got lost: what is stored is what was typed.
  if (Object.keys(patchOf(merged.texts, stored)).length === 0) close('Your profile is saved.');
  else error.value = words.precondition_failed;
}

const hints: Partial<Texts> = {
  avatar_url: 'The https address of a picture. Leave it empty for none.',
  locale: 'A language tag, like en or de-CH. Leave it empty for none.',
  time_zone: 'Like Europe/Zurich. Leave it empty for none.',
};

function TheirValue({ field }: { field: keyof Texts }) {
  const stored = theirs.value[field];
  if (stored === undefined) return null;
  return (
    <p class="theirs caution">
      Stored now: {stored === '' ? 'nothing' : <bdi>{escapeInvisible(stored)}</bdi>}
    </p>
  );
}

function EditForm() {
  const about = (field: keyof Texts) => ({
    id: `edit-${field}`,
    label: labels[field],
    value: typed[field],
    error: wrongField.value === field ? error.value : '',
    errorId: 'profile-error',
    ...(hints[field] === undefined ? {} : { hint: hints[field] }),
  });
  const ofBrowser = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Form onSubmit={save}>
      <ErrorMessage id="profile-error" text={error.value} />
      <NameField {...about('name')} takesFocus maxLength={fieldLimits.profileName} />
      <TheirValue field="name" />
      <PlainField {...about('locale')} isOptional list="locales" maxLength={fieldLimits.locale} />
      <datalist id="locales">
        {navigator.languages.map((language) => (
          <option key={language} value={language} />
        ))}
      </datalist>
      <TheirValue field="locale" />
      <PlainField {...about('time_zone')} isOptional list="time-zones" maxLength={fieldLimits.timeZone} />
      <datalist id="time-zones">
        {[...new Set([ofBrowser, ...Intl.supportedValuesOf('timeZone')])].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <TheirValue field="time_zone" />
      <PlainField {...about('avatar_url')} isOptional maxLength={fieldLimits.avatarUrl} />
      <TheirValue field="avatar_url" />
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
  avatar_url: 'Picture',
  locale: 'Language',
  time_zone: 'Time zone',
};

const Text = ({ value }: { value: string | null }) =>
  value === null ? <span class="missing">not given</span> : <bdi>{escapeInvisible(value)}</bdi>;

/** Who the account belongs to, and changing that. */
export function ProfileSection() {
  const shown = profile.value;
  if (shown === undefined) return null;
  return (
    <section aria-label="Profile">
      <dl>
        <dt>Mail address</dt>
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
      <StatusMessage id="profile-status">{status.value}</StatusMessage>
      {isOpen.value ? (
        <EditForm />
      ) : (
        <div class="row">
          <button type="button" id="edit-profile" class="plain" onClick={() => open(shown)}>
            Edit the profile
          </button>
        </div>
      )}
      <ChangeEmail />
    </section>
  );
}
