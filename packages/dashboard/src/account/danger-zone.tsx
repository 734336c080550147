import { type Signal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { deleteAccount } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorMessage, Warning } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';
import { signingOut, signOut, signOutError } from './sign-out.ts';

type Danger = 'sign-out-everywhere' | 'delete-account';

const asked = signal<Danger | undefined>(undefined);
const deleteError = signal('');
const deleting = busyState();

const messages = {
  conflict:
    "You're the only owner of an organization. Make someone else an owner first, then delete your account.",
};

const remove = () =>
  deleting.run(async () => {
    deleteError.value = '';
    const result = await runAction(deleteAccount);
    if (result.ok) {
      noteSignOut('deleted');
      location.replace('/login');
      return 'leaving';
    }
    deleteError.value = explain(result.problem, messages);
    return undefined;
  });

/** Returns the focus to the button that opened the dialog. */
function cancel(danger: Danger): void {
  asked.value = undefined;
  requestAnimationFrame(() => document.getElementById(danger)?.focus());
}

interface DangerProps {
  readonly danger: Danger;
  readonly title: string;
  readonly text: string;
  readonly error: Signal<string>;
  readonly question: ComponentChildren;
  readonly confirm: ComponentChildren;
}

/** A row with a button that opens a dialog, which asks again. */
function DangerRow({ danger, title, text, error, question, confirm }: DangerProps) {
  const isOpen = asked.value === danger;
  return (
    <li class="danger-row">
      <div>
        <p>
          <strong id={`${danger}-title`}>{title}</strong>
        </p>
        <p class="quiet">{text}</p>
      </div>
      <button
        type="button"
        id={danger}
        class="danger"
        aria-haspopup="dialog"
        onClick={() => {
          error.value = '';
          asked.value = danger;
        }}
      >
        {title}
      </button>
      {isOpen ? (
        <Dialog id={`${danger}-dialog`} title={`${title}?`} onClose={() => cancel(danger)}>
          <Warning>{question}</Warning>
          <ErrorMessage id={`${danger}-error`} text={error.value} />
          <div class="row actions">
            <button type="button" onClick={() => cancel(danger)}>
              Cancel
            </button>
            {confirm}
          </div>
        </Dialog>
      ) : null}
    </li>
  );
}

/** What ends every session or the account itself. Each is asked twice. */
export const DangerZone = () => (
  <section class="card danger-zone" aria-labelledby="danger-heading">
    <div class="section-head">
      <h2 id="danger-heading">Danger zone</h2>
    </div>
    <ul class="plain-list">
      <DangerRow
        danger="sign-out-everywhere"
        title="Sign out everywhere"
        text="End all your sessions, here and on your devices."
        error={signOutError.everywhere}
        question="This ends all your sessions, including this one and those on your devices, and removes your keys. Approvals for devices that haven't finished signing in are withdrawn."
        confirm={
          <button
            type="button"
            id="confirm-sign-out-everywhere"
            class="danger"
            disabled={signingOut.now.value}
            onClick={() => void signOut('everywhere')}
          >
            {signingOut.label('everywhere', 'Yes, sign out everywhere')}
          </button>
        }
      />
      <DangerRow
        danger="delete-account"
        title="Delete account"
        text="Permanently delete your account and all of its data."
        error={deleteError}
        question="Your profile, passkeys, sessions, keys, and activity will be permanently deleted. This can't be undone. You can sign up again with the same email, as a new account."
        confirm={
          <button type="button" class="danger" disabled={deleting.now.value} onClick={() => void remove()}>
            {deleting.now.value ? 'One moment…' : 'Permanently delete account'}
          </button>
        }
      />
    </ul>
  </section>
);
