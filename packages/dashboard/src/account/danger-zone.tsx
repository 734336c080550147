import { type Signal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorMessage, Warning } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';
import { signingOut, signOut } from './sign-out.ts';

type Danger = 'sign-out-everywhere' | 'delete-account';

const asked = signal<Danger | undefined>(undefined);
const deleting = busyState();

const { danger } = texts.account;
const messages = {
  conflict: danger.onlyOwner,
};

const remove = () =>
  deleting.run(async () => {
    const result = await runAction(() => call('deleteAccount'));
    if (!result.ok) return explain(result.problem, messages);
    noteSignOut('deleted');
    return leaveTo('/login');
  });

/** Returns the focus to the button that opened the dialog. */
function cancel(cancelled: Danger): void {
  asked.value = undefined;
  requestAnimationFrame(() => document.getElementById(cancelled)?.focus());
}

interface DangerProps {
  readonly id: Danger;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
  readonly error: Signal<string>;
  readonly question: ComponentChildren;
  readonly confirm: ComponentChildren;
}

/** A row with a button that opens a dialog, which asks again. */
function DangerRow({ id, title, heading, text, error, question, confirm }: DangerProps) {
  const isOpen = asked.value === id;
  return (
    <li class="danger-row">
      <div>
        <p>
          <strong id={`${id}-title`}>{title}</strong>
        </p>
        <p class="quiet">{text}</p>
      </div>
      <button
        type="button"
        id={id}
        class="danger"
        aria-haspopup="dialog"
        onClick={() => {
          error.value = '';
          asked.value = id;
        }}
      >
        {title}
      </button>
      {isOpen ? (
        <Dialog id={`${id}-dialog`} title={heading} onClose={() => cancel(id)}>
          <Warning>{question}</Warning>
          <ErrorMessage id={`${id}-error`} text={error.value} />
          <div class="row actions">
            <button type="button" onClick={() => cancel(id)}>
              {texts.common.cancel}
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
      <h2 id="danger-heading">{danger.heading}</h2>
    </div>
    <ul class="plain-list">
      <DangerRow
        id="sign-out-everywhere"
        title={danger.signOut}
        heading={danger.signOutQuestion}
        text={danger.signOutText}
        error={signingOut.everywhere.error}
        question={danger.signOutWarning}
        confirm={
          <button
            type="button"
            id="confirm-sign-out-everywhere"
            class="danger"
            disabled={signingOut.everywhere.now.value}
            onClick={() => void signOut('everywhere')}
          >
            {signingOut.everywhere.label(danger.signOutConfirm)}
          </button>
        }
      />
      <DangerRow
        id="delete-account"
        title={danger.delete}
        heading={danger.deleteQuestion}
        text={danger.deleteText}
        error={deleting.error}
        question={danger.deleteWarning}
        confirm={
          <button type="button" class="danger" disabled={deleting.now.value} onClick={() => void remove()}>
            {deleting.label(danger.deleteConfirm)}
          </button>
        }
      />
    </ul>
  </section>
);
