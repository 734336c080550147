import { addPasskey } from '@latchkey/client/passkeys/add';
import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { inTurn, signalAccount } from '@latchkey/client/passkeys/signal';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Passkey } from '@latchkey/contract/passkeys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, listPasskeys, type Problem, removePasskey, renamePasskey, resultOf } from '../api.ts';
import { explain } from '../error-messages.ts';
import { forgetEmailSignIn, signedInByEmail } from '../passkey-offer.ts';
import { busyState } from '../ui/busy.ts';
import { NameField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { describeStorage } from './passkey-storage.ts';
import { focusHeading, Section, SectionContent, sectionData } from './section.tsx';

/** The one passkey that is being changed, or asked about. */
type Open = { readonly id: string; readonly to: 'rename' | 'remove' };

const passkeys = signal<readonly Passkey[]>([]);
const open = signal<Open | undefined>(undefined);
const newName = signal('');
/** The message is about the name that was typed. */
const nameError = signal('');
/** Known before any list is, so that no button takes another one's place under somebody's finger. */
const offered = signal(passkeysSupported && signedInByEmail());
const error = signal('');
const status = signal('');
const busy = busyState<'add'>();

const words = {
  invalid_grant: 'That passkey could not be added. Try again.',
  conflict:
    'That passkey could not be added: it is registered already, or your account has as many as it can have.',
  too_many: `Your account has ${fieldLimits.passkeys} passkeys, as many as it can have. Remove one you no longer use, and try again.`,
  not_found: 'That passkey is gone already.',
};

function report(problem: Problem): undefined {
  error.value = explain(problem, words);
}

/** One change at a time, beginning with no message from the one before. */
const change = (work: () => Promise<'leaving' | undefined>, action?: 'add') =>
  busy.run(() => {
    error.value = '';
    status.value = '';
    nameError.value = '';
    return work();
  }, action);

async function loadPasskeys(): Promise<Problem | undefined> {
  const list = detectSignOut(await listPasskeys());
  if (!list.ok) return list.problem;
  passkeys.value = list.value.passkeys;
  if (passkeys.value.length >= fieldLimits.passkeys) offered.value = false;
  return undefined;
}

export const passkeysData = sectionData('passkeys', 'Your passkeys', loadPasskeys);

/** Once the page is shown after a recent login: the offer has been made, and the browser learns which passkeys exist. */
export async function afterRecentSignIn(): Promise<void> {
  forgetEmailSignIn();
  await inTurn(() => signalAccount(api));
}

/** Whether the account has as many passkeys as it can have, also when another page added or removed some. */
async function isFull(): Promise<boolean> {
  await loadPasskeys();
  return passkeys.value.length >= fieldLimits.passkeys;
}

const add = () =>
  change(async () => {
    if (passkeys.value.length >= fieldLimits.passkeys && (await isFull())) {
      error.value = words.too_many;
      return undefined;
    }
    const added = await runAction(() => resultOf(addPasskey(api)));
    if (!added.ok) {
      if (added.problem.code === 'conflict' && (await isFull())) {
        error.value = words.too_many;
        return undefined;
      }
      // It is of use all the same: there is nothing to offer any more.
      if (added.problem.code === 'passkey_already_there') offered.value = false;
      return report(added.problem);
    }
    passkeys.value = [added.value, ...passkeys.value.filter(({ id }) => id !== added.value.id)];
    offered.value = false;
    status.value = `Passkey added: ${added.value.name}. From now on you can sign in with it.`;
    focusHeading('passkeys');
    return undefined;
  }, 'add');

const rename = ({ id }: Passkey) =>
  change(async () => {
    const name = newName.value.trim();
    if (name === '') {
      nameError.value = 'Type a name first.';
      return undefined;
    }
    const renamed = await runAction(() => renamePasskey(id, name));
    if (!renamed.ok) {
      if (renamed.problem.code !== 'invalid_request') return report(renamed.problem);
      nameError.value = 'That name cannot be used. Try another one.';
      return undefined;
    }
    passkeys.value = passkeys.value.map((passkey) => (passkey.id === id ? renamed.value : passkey));
    open.value = undefined;
    status.value = `That passkey is now called ${renamed.value.name}.`;
    focusHeading('passkeys');
    return undefined;
  });

const remove = (removed: Passkey) =>
  change(async () => {
    const result = await runAction(() => removePasskey(removed.id));
    // One that is gone already is as removed as it can be.
    if (!result.ok && result.problem.code !== 'not_found') return report(result.problem);
    passkeys.value = passkeys.value.filter(({ id }) => id !== removed.id);
    open.value = undefined;
    status.value = `${removed.name} has been removed. It no longer signs you in.`;
    focusHeading('passkeys');
    await inTurn(() => signalAccount(api));
    return undefined;
  });

function show(passkey: Passkey, to: Open['to']): void {
  newName.value = passkey.name;
  nameError.value = '';
  open.value = { id: passkey.id, to };
}

/** Back to the buttons; the one that led away gets the focus again. */
function close({ id, to }: Open): void {
  open.value = undefined;
  requestAnimationFrame(() => document.getElementById(`${to}-${id}`)?.focus());
}

function RenameForm({ passkey, now }: { passkey: Passkey; now: Open }) {
  const errorId = `error-${passkey.id}`;
  return (
    <Form onSubmit={() => rename(passkey)}>
      <ErrorMessage id={errorId} text={nameError.value} />
      <NameField
        id={`name-${passkey.id}`}
        label="New name"
        value={newName}
        error={nameError.value}
        errorId={errorId}
        takesFocus
        maxLength={fieldLimits.passkeyName}
      />
      <div class="row">
        <button type="submit" class="primary" disabled={busy.now.value}>
          Save
        </button>
        <button type="button" disabled={busy.now.value} onClick={() => close(now)}>
          Cancel
        </button>
      </div>
    </Form>
  );
}

function RemoveQuestion({ passkey, now }: { passkey: Passkey; now: Open }) {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <>
      <p ref={question} tabIndex={-1} class="warning">
        Remove <bdi>{escapeInvisible(passkey.name)}</bdi>? It then no longer signs you in. A mail still does.
      </p>
      <div class="row">
        <button type="button" disabled={busy.now.value} onClick={() => void remove(passkey)}>
          Yes, remove it
        </button>
        <button type="button" disabled={busy.now.value} onClick={() => close(now)}>
          Keep it
        </button>
      </div>
    </>
  );
}

function Actions({ passkey, title }: { passkey: Passkey; title: string }) {
  return (
    <div class="row">
      {(['rename', 'remove'] as const).map((to) => (
        <button
          key={to}
          type="button"
          id={`${to}-${passkey.id}`}
          class="plain"
          disabled={busy.now.value}
          aria-describedby={title}
          onClick={() => show(passkey, to)}
        >
          {to === 'rename' ? 'Rename' : 'Remove'}
        </button>
      ))}
    </div>
  );
}

function Item({ passkey }: { passkey: Passkey }) {
  const title = `passkey-${passkey.id}`;
  const now = open.value?.id === passkey.id ? open.value : undefined;
  const storage = describeStorage(passkey);
  return (
    <li class="passkey" data-passkey={passkey.id} aria-labelledby={title}>
      <p id={title}>
        <strong>
          <bdi>{escapeInvisible(passkey.name)}</bdi>
        </strong>{' '}
        <span class="badge">{storage.badge}</span>
      </p>
      <p class="quiet">
        {storage.sentence} Added <Timestamp at={passkey.created_at} />.{' '}
        {passkey.last_used_at === null ? (
          'Not used yet.'
        ) : (
          <>
            Last used <Timestamp at={passkey.last_used_at} />.
          </>
        )}
      </p>
      {now === undefined ? <Actions passkey={passkey} title={title} /> : null}
      {now?.to === 'rename' ? <RenameForm passkey={passkey} now={now} /> : null}
      {now?.to === 'remove' ? <RemoveQuestion passkey={passkey} now={now} /> : null}
    </li>
  );
}

const AddButton = ({ primary = false }: { primary?: boolean }) => (
  <button
    type="button"
    id="add-passkey"
    class={primary ? 'primary' : ''}
    disabled={busy.now.value}
    onClick={() => void add()}
  >
    {busy.label('add', 'Add a passkey')}
  </button>
);

function Offer() {
  return (
    <section class="offer" aria-labelledby="offer-text">
      <p id="offer-text">
        <strong>Next time without a mail.</strong> With a passkey you sign in by fingerprint, face or the lock
        of your screen.
      </p>
      <div class="row">
        <AddButton primary />
        <button
          type="button"
          class="plain"
          disabled={busy.now.value}
          onClick={() => {
            offered.value = false;
            focusHeading('passkeys');
          }}
        >
          Not now
        </button>
      </div>
    </section>
  );
}

/** The passkeys of the account: see, add, rename, remove. */
export function Passkeys() {
  return (
    <Section of={passkeysData} title="Your passkeys">
      <ErrorMessage id="passkeys-error" text={error.value} />
      <StatusMessage id="passkeys-status">{status.value}</StatusMessage>
      <SectionContent of={passkeysData} entries={2}>
        {offered.value ? <Offer /> : null}
        {passkeys.value.length === 0 && !offered.value ? (
          <p class="quiet">None yet. A passkey signs you in without waiting for a mail.</p>
        ) : null}
        {passkeys.value.length === 0 ? null : (
          <ul id="passkeys" class="plain-list" aria-labelledby="passkeys-heading">
            {passkeys.value.map((passkey) => (
              <Item key={passkey.id} passkey={passkey} />
            ))}
          </ul>
        )}
        {passkeysSupported ? null : <p class="quiet">This browser cannot make passkeys.</p>}
        {passkeysSupported && !offered.value ? <AddButton /> : null}
      </SectionContent>
    </Section>
  );
}
