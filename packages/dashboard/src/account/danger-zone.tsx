import { signal } from '@preact/signals';
import { texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Button, ErrorMessage, Warning } from '../ui/elements.tsx';
import { Choice, EmailField, Form } from '../ui/form.tsx';
import { ask, isAsking, stopAsking } from '../ui/question.tsx';
import { signingOut, signOut } from './actions.tsx';
import { shownProfile } from './profile.tsx';
import { Card } from './section.tsx';

const { danger } = texts.account;

const address = signal('');

interface DangerProps {
  readonly id: string;
  readonly words: typeof danger.delete;
  readonly how: 'everywhere' | 'deleted';
}

/** A row with a button that opens a dialog, which asks again. */
function DangerRow({ id, words, how }: DangerProps) {
  const busy = signingOut[how];
  const open = () => {
    address.value = '';
    ask(id, busy);
  };
  const cancel = () => stopAsking(id);
  const email = shownProfile()?.email ?? '';
  const asksForAddress = how === 'deleted';
  const confirm = async () => {
    const isWrong = asksForAddress && typedAddress(address.value).toLowerCase() !== email.toLowerCase();
    if (isWrong) busy.fail(['address', danger.wrongAddress]);
    else await signOut(how);
  };
  return (
    <li class="danger-row">
      <div>
        <p>
          <strong id={`${id}-title`}>{words.title}</strong>
        </p>
        <p class="quiet">{words.text}</p>
      </div>
      <Button id={id} class="danger" aria-haspopup="dialog" onClick={open}>
        {words.title}
      </Button>
      {isAsking(id) ? (
        <Dialog id={`${id}-dialog`} title={words.question} onClose={cancel}>
          <Warning>{words.warning}</Warning>
          <ErrorMessage id={`${id}-error`} text={busy.errorOf()} />
          {asksForAddress ? (
            <Form onSubmit={confirm}>
              <EmailField
                id="deleted-email"
                label={danger.address}
                hint={email}
                value={address}
                error={busy.errorOf('address')}
                autoComplete="off"
              />
            </Form>
          ) : null}
          <Choice busy={busy} label={words.confirm} onConfirm={confirm} onCancel={cancel} />
        </Dialog>
      ) : null}
    </li>
  );
}

/** What ends every session or the account itself. Each asks again, and deleting asks for the email address. */
export const DangerZone = () => (
  <Card id="danger" title={danger.heading} class="card danger-zone">
    <ul class="plain-list">
      <DangerRow id="sign-out-everywhere" words={danger.signOut} how="everywhere" />
      <DangerRow id="delete-account" words={danger.delete} how="deleted" />
    </ul>
  </Card>
);
