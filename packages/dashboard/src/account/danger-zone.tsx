import { signal } from '@preact/signals';
import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { texts } from '../texts.ts';
import { type Busy, busyState, leaveTo } from '../ui/busy.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorMessage, Warning } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';
import { signingOut, signOut } from './sign-out.ts';

type Danger = 'sign-out-everywhere' | 'delete-account';

const asked = signal<Danger | undefined>(undefined);
const deleting = busyState();

const { danger } = texts.account;
const remove = () =>
  deleting.run(async () => {
    const result = await runAction(() => call('deleteAccount'));
    if (!result.ok) return explain(result.problem, { conflict: danger.onlyOwner });
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
  readonly question: string;
  readonly confirm: string;
  readonly busy: Busy;
  readonly onConfirm: () => Promise<void>;
}

/** A row with a button that opens a dialog, which asks again. */
function DangerRow({ id, title, heading, text, question, confirm, busy, onConfirm }: DangerProps) {
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
          busy.error.value = '';
          asked.value = id;
        }}
      >
        {title}
      </button>
      {isOpen ? (
        <Dialog id={`${id}-dialog`} title={heading} onClose={() => cancel(id)}>
          <Warning>{question}</Warning>
          <ErrorMessage id={`${id}-error`} text={busy.error.value} />
          <div class="row actions">
            <button type="button" onClick={() => cancel(id)}>
              {texts.common.cancel}
            </button>
            <button
              type="button"
              id={`confirm-${id}`}
              class="danger"
              disabled={busy.now.value}
              onClick={() => void onConfirm()}
            >
              {busy.label(confirm)}
            </button>
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
        question={danger.signOutWarning}
        confirm={danger.signOutConfirm}
        busy={signingOut.everywhere}
        onConfirm={() => signOut('everywhere')}
      />
      <DangerRow
        id="delete-account"
        title={danger.delete}
        heading={danger.deleteQuestion}
        text={danger.deleteText}
        question={danger.deleteWarning}
        confirm={danger.deleteConfirm}
        busy={deleting}
        onConfirm={remove}
      />
    </ul>
  </section>
);
