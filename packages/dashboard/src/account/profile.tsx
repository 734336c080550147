import type { Profile } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { languages } from '@latchkey/contract/languages';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { type Signal, signal } from '@preact/signals';
import type { Problem } from '../api.ts';
import { explain } from '../error-messages.ts';
import { followLanguage } from '../follow-language.ts';
import { languageName } from '../format.ts';
import { setPageUser } from '../page-user.ts';
import { tabNote } from '../tab-note.ts';
import { fillParts, language, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button, ErrorMessage, focusAgain } from '../ui/elements.tsx';
import { Fact } from '../ui/facts.tsx';
import { Choice, Form, SelectField, TextField } from '../ui/form.tsx';
import { Done, hideDone, runAction, showDone } from './actions.tsx';
import { ChangeEmail } from './change-email.tsx';
import { fields, mergeEdits, patchOf, type Texts, textsOf } from './profile-edits.ts';
import { getTaggedProfile, updateProfile } from './requests.ts';
import { Card } from './section.tsx';
import { offeredTimeZones, timeZoneText, typedTimeZone } from './time-zones.ts';

const profile = signal<Profile | undefined>(undefined);
let tag = '';

const isOpen = signal(false);
const typed = Object.fromEntries(fields.map((field) => [field, signal('')])) as Record<
  keyof Texts,
  Signal<string>
>;
/** The stored values when the form was opened, or at the last merge with a concurrent change. */
let base: Texts;
const isMerged = signal(false);
const busy = busyState<keyof Texts>();

/** The profile as it is stored, once loaded. */
export const shownProfile = (): Profile | undefined => profile.value;

const words = texts.account.profile;
/** Left for this page when it reloads in the language that was saved. */
const savedNote = tabNote('profile-saved');

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
  showDone('profile', words.saved);
}

function show(stored: { readonly profile: Profile; readonly tag: string }): void {
  ({ profile: profile.value, tag } = stored);
  setPageUser(stored.profile);
}

/** The typed values; undefined if no time zone has the typed name. */
function currentTexts(): Texts | undefined {
  const [name, locale, zone] = fields.map((field) => typed[field].value.trim()) as [string, string, string];
  // This browser may not know the stored one.
  const isKept = zone === '' || zone === timeZoneText(base.time_zone);
  const time_zone = isKept ? zone && base.time_zone : typedTimeZone(zone);
  return time_zone === undefined ? undefined : { name, locale, time_zone };
}

function fillForm(values: Texts): void {
  for (const field of fields) typed[field].value = values[field];
  typed.time_zone.value = timeZoneText(values.time_zone);
}

function open(stored: Profile): void {
  base = textsOf(stored);
  fillForm(base);
  isMerged.value = false;
  busy.error.value = '';
  hideDone();
  isOpen.value = true;
}

function close(message = ''): undefined {
  isOpen.value = false;
  if (message !== '') showDone('profile', message);
  focusAgain('edit-profile');
}

const save = () =>
  busy.run(async () => {
    const edited = currentTexts();
    if (edited === undefined) return ['time_zone', words.unknownZone];
    if (edited.name === '') return ['name', texts.account.enterName];
    const patch = patchOf(edited, base);
    if (Object.keys(patch).length === 0) return close();
    const saved = await runAction(() => updateProfile(patch, tag));
    if (saved.ok) {
      show(saved.value);
      if (!followLanguage(saved.value.profile.locale)) return close(words.saved);
      savedNote.leave('1');
      return undefined;
    }
    const { code, message } = saved.problem;
    if (code === 'precondition_failed') return mergeStored(edited);
    return code === 'invalid_request' && message?.startsWith('name:')
      ? ['name', texts.account.badName]
      : explain(saved.problem);
  });

/** Merges a concurrent change into the form. Fields that were edited keep what was typed, above what is stored. */
async function mergeStored(edited: Texts): Promise<string | undefined> {
  const problem = await loadProfile();
  if (problem || !profile.value) return explain(problem ?? { code: 'server_error' });
  const stored = textsOf(profile.value);
  const merged = mergeEdits(edited, base, stored);
  base = stored;
  fillForm(merged);
  isMerged.value = true;
  // Nothing left to save: an earlier save succeeded but its response was lost.
  return Object.keys(patchOf(merged, stored)).length === 0 ? close(words.saved) : words.changed;
}

/** A value as people know it: the language `de-CH` as "Deutsch (Schweiz)", the time zone as its cities. */
function shownText(field: keyof Texts, value: string): string {
  const text = field === 'locale' ? languageName(value) : value;
  return escapeInvisible(field === 'time_zone' ? timeZoneText(text) : text);
}

function StoredValue({ field }: { field: keyof Texts }) {
  const [stored, now] = [shownText(field, base[field]), typed[field].value];
  if (!isMerged.value || now === stored || now === base[field]) return null;
  return (
    <p class="stored-value caution">
      {fillParts(words.stored, { value: stored === '' ? words.notSet : <bdi>{stored}</bdi> })}
    </p>
  );
}

/** A menu of the languages, with the stored one, which this browser may not know, and the one to clear it. */
function LanguageField() {
  const offered = [...languages, ...navigator.languages, base.locale];
  const options = [...new Set(offered)]
    .filter((value) => value !== '')
    .map((value) => ({ value, text: shownText('locale', value) }))
    .sort(
      (one, other) =>
        Number(other.value === language) - Number(one.value === language) ||
        one.text.localeCompare(other.text),
    );
  return (
    <SelectField
      id="edit-locale"
      label={words.locale}
      hint={words.hints.locale}
      value={typed.locale}
      options={[{ value: '', text: words.notSet }, ...options]}
    />
  );
}

/** Any part of a name finds the time zone. */
const TimeZoneField = () => (
  <>
    <TextField
      id="edit-time_zone"
      label={words.time_zone}
      hint={words.hints.time_zone}
      value={typed.time_zone}
      error={busy.errorOf('time_zone')}
      list="time-zones"
      required={false}
      maxLength={fieldLimits.timeZone}
    />
    <datalist id="time-zones">
      {offeredTimeZones.map((zone) => (
        <option key={zone} value={timeZoneText(zone)} />
      ))}
    </datalist>
  </>
);

function EditForm() {
  return (
    <Form onSubmit={save}>
      <ErrorMessage id="profile-error" text={busy.errorOf()} />
      <TextField
        id="edit-name"
        label={words.name}
        value={typed.name}
        error={busy.errorOf('name')}
        takesFocus
        maxLength={fieldLimits.profileName}
      />
      <StoredValue field="name" />
      <LanguageField />
      <StoredValue field="locale" />
      <TimeZoneField />
      <StoredValue field="time_zone" />
      <Choice busy={busy} label={texts.account.save} onCancel={() => close()} />
    </Form>
  );
}

const Text = ({ field, value }: { field: keyof Texts; value: string | null }) =>
  value === null ? <span class="missing">{words.notSet}</span> : <bdi>{shownText(field, value)}</bdi>;

const Values = ({ shown }: { shown: Profile }) => (
  <dl>
    <Fact label={words.email} id="profile-email">
      <bdi>{shown.email}</bdi>
    </Fact>
    {isOpen.value
      ? null
      : fields.map((field) => (
          <Fact key={field} label={words[field]} id={`profile-${field}`}>
            <Text field={field} value={shown[field]} />
          </Fact>
        ))}
  </dl>
);

export function ProfileSection() {
  const shown = profile.value;
  if (shown === undefined) return null;
  return (
    <Card
      id="profile"
      title={texts.account.sections.profile}
      action={
        isOpen.value ? null : (
          <Button id="edit-profile" onClick={() => open(shown)}>
            {words.edit}
          </Button>
        )
      }
    >
      <Done section="profile" />
      <Values shown={shown} />
      {isOpen.value ? <EditForm /> : null}
      {isOpen.value ? null : <ChangeEmail />}
    </Card>
  );
}
