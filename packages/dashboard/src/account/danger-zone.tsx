import { signal } from '@preact/signals';
import { call } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { texts } from '../texts.ts';
import { type Busy, busyState, leaveTo } from '../ui/busy.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { focusAgain } from '../ui/focus.ts';
import { ErrorMessage, Warning } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';
import { Card } from './section.tsx';
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
  focusAgain(cancelled);
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
      <Button
        id={id}
        class="danger"
        aria-haspopup="dialog"
        onClick={() => {
          busy.error.value = '';
          asked.value = id;
        }}
      >
        {title}
      </Button>
      {isOpen ? (
        <Dialog id={`${id}-dialog`} title={heading} onClose={() => cancel(id)}>
          <Warning>{question}</Warning>
          <ErrorMessage id={`${id}-error`} text={busy.error.value} />
          <div class="row actions">
            <Button onClick={() => cancel(id)}>{texts.common.cancel}</Button>
            <Button id={`confirm-${id}`} class="danger" busy={busy} onClick={onConfirm}>
              {busy.label(confirm)}
            </Button>
          </div>
        </Dialog>
      ) : null}
    </li>
  );
}

/** What ends every session or the account itself. Each is asked twice. */
export const DangerZone = () => (
  <Card id="danger" title={danger.heading} class="card danger-zone">
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
  </Card>
);
