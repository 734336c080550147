import { signal } from '@preact/signals';
import { requestEmailChange } from '../api.ts';
import { duration, emailErrors, explain } from '../error-messages.ts';
import { busyState } from '../ui/busy.ts';
import { EmailField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';

const isOpen = signal(false);
const email = signal('');
const error = signal('');
const status = signal('');
const busy = busyState();

const words = {
  ...emailErrors,
  invalid_request: 'That does not look like a mail address. It should look like ada@example.com.',
  signup_disabled: 'This service does not take addresses of this domain.',
};

/** Takes the form away; whoever uses a keyboard goes on at the button that brought it. */
function close(): void {
  isOpen.value = false;
  requestAnimationFrame(() => document.getElementById('change-address')?.focus());
}

const send = () =>
  busy.run(async () => {
    error.value = '';
    const address = email.value.trim();
    if (address === '') {
      error.value = 'Type the new mail address first.';
      return undefined;
    }
    const result = await runAction(() => requestEmailChange(address));
    if (!result.ok) {
      error.value = explain(result.problem, words);
      return undefined;
    }
    status.value = `We sent a mail to ${address}. Your address changes when the link in it is used, within ${duration(result.value.expires_in)}.`;
    close();
    email.value = '';
    return undefined;
  });

/** Another address for the account: it counts once the link that is sent there has been used. */
export function ChangeEmail() {
  return (
    <section aria-label="Change the mail address">
      <StatusMessage id="address-status">{status.value}</StatusMessage>
      {isOpen.value ? (
        <>
          <ErrorMessage id="address-error" text={error.value} />
          <Form onSubmit={send}>
            <EmailField
              id="new-address"
              label="New mail address"
              value={email}
              error={error.value}
              errorId="address-error"
              takesFocus
              autoComplete="email"
            />
            <div class="row">
              <button type="submit" class="primary" disabled={busy.now.value}>
                {busy.now.value ? 'One moment…' : 'Send a link there'}
              </button>
              <button type="button" disabled={busy.now.value} onClick={close}>
                Cancel
              </button>
            </div>
          </Form>
        </>
      ) : (
        <button
          type="button"
          id="change-address"
          class="plain"
          onClick={() => {
            error.value = '';
            status.value = '';
            isOpen.value = true;
          }}
        >
          Change the address
        </button>
      )}
    </section>
  );
}
