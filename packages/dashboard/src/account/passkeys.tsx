import { addPasskey } from '@latchkey/client/passkeys/add';
import { passkeysAvailable, passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { inTurn, signalAccount } from '@latchkey/client/passkeys/signal';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Passkey } from '@latchkey/contract/passkeys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { api, call, type Problem, resultOf } from '../api.ts';
import { explain } from '../error-messages.ts';
import { browserText } from '../format.ts';
import { emailSignInNote, passkeyNote } from '../tab-note.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button, ErrorMessage, focusAgain, IconBox } from '../ui/elements.tsx';
import { Choice, Form, TextField } from '../ui/form.tsx';
import { passkeyIcon } from '../ui/icons.ts';
import { AskingButton, isAsking } from '../ui/question.tsx';
import { List, Row } from '../ui/row.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { Use } from './parts.tsx';
import { finish, focusHeading, Section, sectionData } from './section.tsx';

const words = texts.account.passkeys;

const passkeys = signal<readonly Passkey[]>([]);

/** Whether the account has a passkey, as far as the page knows. */
export const hasPasskeys = () => passkeys.value.length > 0;
const renaming = signal<string | undefined>(undefined);
const newName = signal('');
/** Decided before the list loads, so that no button moves under the pointer. */
const isOffered = signal(passkeysSupported && emailSignInNote.read() !== null);
const busy = busyState<'add' | 'name'>();

/** Why no passkey can be added here; undefined if one can. */
const obstacle = passkeysSupported
  ? undefined
  : passkeysAvailable
    ? texts.errors.passkeys.unsupported
    : texts.errors.passkeys.unavailable;

const messages = {
  invalid_grant: words.refused,
  conflict: words.conflict,
  limit: fill(words.limit, { limit: String(fieldLimits.passkeys) }),
  not_found: words.gone,
};

async function loadPasskeys(): Promise<Problem | undefined> {
  const list = await detectSignOut(call('listPasskeys'));
  if (!list.ok) return list.problem;
  passkeys.value = list.value.passkeys;
  if (passkeys.value.length >= fieldLimits.passkeys) isOffered.value = false;
  return undefined;
}

export const passkeysData = sectionData('passkeys', texts.account.sections.passkeys, loadPasskeys);

/** Runs once per recent sign-in: stops offering a passkey, and tells the browser which passkeys exist. */
export async function afterRecentSignIn(): Promise<void> {
  emailSignInNote.remove();
  await inTurn(() => signalAccount(api));
}

/** Whether the account has reached the passkey limit, after reloading the list. */
async function isFull(): Promise<boolean> {
  await loadPasskeys();
  return passkeys.value.length >= fieldLimits.passkeys;
}

/** A security key, for example, does not say what it is. */
const fallbackName = browserText(navigator.userAgent);

const add = () =>
  busy.run(async () => {
    if (passkeys.value.length >= fieldLimits.passkeys && (await isFull())) return messages.limit;
    const added = await runAction(() => resultOf(addPasskey(api, { fallbackName })));
    if (!added.ok) {
      if (added.problem.code === 'conflict' && (await isFull())) return messages.limit;
      // The device can already sign in with a passkey, so stop offering one.
      if (added.problem.code === 'passkey_already_there') isOffered.value = false;
      return explain(added.problem, messages);
    }
    passkeys.value = [added.value, ...passkeys.value.filter(({ id }) => id !== added.value.id)];
    isOffered.value = false;
    passkeyNote.leave('1');
    return finish('passkeys', fill(words.added, { name: added.value.name }));
  }, 'add');

const rename = ({ id }: Passkey) =>
  busy.run(async () => {
    const name = newName.value.trim();
    if (name === '') return ['name', texts.account.enterName];
    const renamed = await runAction(() => call('renamePasskey', { params: { id }, body: { name } }));
    if (!renamed.ok)
      return renamed.problem.code === 'invalid_request'
        ? ['name', texts.account.badName]
        : explain(renamed.problem, messages);
    passkeys.value = passkeys.value.map((passkey) => (passkey.id === id ? renamed.value : passkey));
    renaming.value = undefined;
    return finish('passkeys', fill(words.renamed, { name: renamed.value.name }));
  });

const remove = (removed: Passkey) =>
  busy.run(async () => {
    const result = await runAction(() => call('removePasskey', { params: { id: removed.id } }));
    // A passkey that is already gone counts as removed.
    if (!result.ok && result.problem.code !== 'not_found') return explain(result.problem, messages);
    passkeys.value = passkeys.value.filter(({ id }) => id !== removed.id);
    finish('passkeys', fill(words.removed, { name: removed.name }));
    await inTurn(() => signalAccount(api));
    return undefined;
  });

function openRename({ id, name }: Passkey): void {
  newName.value = name;
  busy.error.value = '';
  renaming.value = id;
}

/** Shows the buttons again and returns the focus to the one that was used. */
function closeRename({ id }: Passkey): void {
  renaming.value = undefined;
  focusAgain(`rename-${id}`);
}

const RenameForm = ({ passkey }: { passkey: Passkey }) => (
  <Form onSubmit={() => rename(passkey)}>
    <TextField
      id={`name-${passkey.id}`}
      label={words.newName}
      value={newName}
      error={busy.errorOf('name')}
      takesFocus
      maxLength={fieldLimits.passkeyName}
    />
    <Choice busy={busy} label={texts.account.save} onCancel={() => closeRename(passkey)} />
  </Form>
);

const removeId = ({ id }: Passkey) => `remove-${id}`;

/** The name and the question show their error themselves. */
const isShownElsewhere = () =>
  busy.errorOf('name') !== '' || passkeys.value.some((passkey) => isAsking(removeId(passkey)));

const nameOf = ({ name }: Passkey) => <bdi>{escapeInvisible(name)}</bdi>;

function Actions({ passkey, titleId }: { passkey: Passkey; titleId: string }) {
  const id = removeId(passkey);
  const removal = (
    <AskingButton
      id={id}
      titleId={titleId}
      label={texts.account.remove}
      question={fillParts(words.question, { name: nameOf(passkey) })}
      confirm={words.remove}
      busy={busy}
      onConfirm={() => remove(passkey)}
    />
  );
  if (isAsking(id)) return removal;
  return (
    <div class="row">
      <Button
        id={`rename-${passkey.id}`}
        class="plain"
        busy={busy}
        aria-describedby={titleId}
        onClick={() => openRename(passkey)}
      >
        {words.rename}
      </Button>
      {removal}
    </div>
  );
}

/** Where a passkey is stored, and so whether losing a device means losing it. */
function storageOf({ device_type, backed_up }: Passkey): readonly [badge: string, text: string] {
  if (backed_up) return [words.synced, words.syncedText];
  if (device_type === 'multi_device') return [words.notBackedUp, words.notBackedUpText];
  return [words.oneDevice, words.oneDeviceText];
}

function PasskeyRow({ passkey }: { passkey: Passkey }) {
  const titleId = `passkey-${passkey.id}`;
  const isRenaming = renaming.value === passkey.id;
  const [storage, storageText] = storageOf(passkey);
  return (
    <Row
      titleId={titleId}
      icon={passkeyIcon}
      title={
        <>
          {nameOf(passkey)} <span class="badge">{storage}</span>
        </>
      }
      action={isRenaming ? null : <Actions passkey={passkey} titleId={titleId} />}
      below={isRenaming ? <RenameForm passkey={passkey} /> : null}
    >
      <p>
        <Use item={passkey} />
      </p>
      <p>{storageText}</p>
    </Row>
  );
}

const AddButton = ({ primary = false }: { primary?: boolean }) => (
  <Button id="add-passkey" class={primary ? 'primary' : ''} busy={busy} onClick={add}>
    {busy.label(words.add, 'add')}
  </Button>
);

const Offer = () => (
  <section class="offer" aria-labelledby="offer-text">
    <IconBox path={passkeyIcon} />
    <p id="offer-text">
      {fillParts(texts.common.sentences, { first: <strong>{words.offer}</strong>, second: words.offerText })}
    </p>
    <div class="row">
      <AddButton primary />
      <Button
        class="plain"
        busy={busy}
        onClick={() => {
          isOffered.value = false;
          focusHeading('passkeys');
        }}
      >
        {words.notNow}
      </Button>
    </div>
  </section>
);

export const Passkeys = () => (
  <Section
    data={passkeysData}
    isPart
    action={passkeysSupported && !isOffered.value ? <AddButton /> : null}
    above={<ErrorMessage id="passkeys-error" text={isShownElsewhere() ? '' : busy.error.value} />}
    entries={2}
  >
    {isOffered.value ? <Offer /> : null}
    <List
      id="passkeys"
      none={isOffered.value ? undefined : { icon: passkeyIcon, text: obstacle ?? words.none }}
    >
      {passkeys.value.map((passkey) => (
        <PasskeyRow key={passkey.id} passkey={passkey} />
      ))}
    </List>
    {obstacle === undefined || passkeys.value.length === 0 ? null : <p class="quiet">{obstacle}</p>}
  </Section>
);
