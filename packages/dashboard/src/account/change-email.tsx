import { signal } from '@preact/signals';
import { requestEmailChange } from '../api.ts';
import { emailErrors, explain } from '../error-messages.ts';
import { duration } from '../format.ts';
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

const messages = {
  ...emailErrors,
  signup_disabled: "Email addresses at this domain can't be used here.",
};

/** Closes the form and returns the focus to the button that opened it. */
function close(): void {
  isOpen.value = false;
  requestAnimationFrame(() => document.getElementById('change-email')?.focus());
}

const send = () =>
  busy.run(async () => {
    error.value = '';
    const address = email.value.trim();
    if (address === '') {
      error.value = 'Enter your new email address.';
      return undefined;
    }
    const result = await runAction(() => requestEmailChange(address));
    if (!result.ok) {
      error.value = explain(result.problem, messages);
      return undefined;
    }
    status.value = `We sent a link to ${address}. Open it within ${duration(result.value.expires_in)} to confirm your new email.`;
    close();
    email.value = '';
    return undefined;
  });

/** Requests a new email for the account. It takes effect once the link sent there is used. */
export function ChangeEmail() {
  return (
    <section aria-label="Change email">
      <StatusMessage id="email-status">{status.value}</StatusMessage>
      {isOpen.value ? (
        <>
          <ErrorMessage id="email-error" text={error.value} />
          <Form onSubmit={send}>
            <EmailField
              id="new-email"
              label="New email address"
              value={email}
              error={error.value}
              errorId="email-error"
              takesFocus
              autoComplete="email"
            />
            <div class="row">
              <button type="submit" class="primary" disabled={busy.now.value}>
                {busy.now.value ? 'One moment…' : 'Send confirmation link'}
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
          id="change-email"
          onClick={() => {
            error.value = '';
            status.value = '';
            isOpen.value = true;
          }}
        >
          Change email
        </button>
      )}
    </section>
  );
}
