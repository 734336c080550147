import { signal } from '@preact/signals';
import { call } from '../api.ts';
import { emailErrors, explain } from '../error-messages.ts';
import { duration } from '../format.ts';
import { fill, texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { busyState } from '../ui/busy.ts';
import { Button, focusAgain, StatusMessage } from '../ui/elements.tsx';
import { Choice, EmailField, Form } from '../ui/form.tsx';
import { runAction } from './actions.tsx';

const isOpen = signal(false);
const email = signal('');
const status = signal('');
const busy = busyState();
const { error } = busy;

const messages = {
  ...emailErrors,
  signup_disabled: texts.account.email.notAllowed,
};

/** Closes the form and returns the focus to the button that opened it. */
function close(): void {
  isOpen.value = false;
  focusAgain('change-email');
}

const send = () =>
  busy.run(async () => {
    const address = typedAddress(email.value);
    if (address === '') return texts.account.email.enter;
    const result = await runAction(() => call('requestEmailChange', { body: { email: address } }));
    if (!result.ok) return explain(result.problem, messages);
    status.value = fill(texts.account.email.sent, {
      email: address,
      duration: duration(result.value.expires_in),
    });
    close();
    email.value = '';
    return undefined;
  });

/** Requests a new email for the account. It takes effect once the link sent there is used. */
export function ChangeEmail() {
  return (
    <section aria-label={texts.account.email.change}>
      <StatusMessage id="email-status" text={status.value} />
      {isOpen.value ? (
        <Form onSubmit={send}>
          <EmailField
            id="new-email"
            label={texts.account.email.label}
            value={email}
            error={error.value}
            takesFocus
            autoComplete="email"
          />
          <Choice busy={busy} label={texts.account.email.send} onCancel={close} />
        </Form>
      ) : (
        <Button
          id="change-email"
          onClick={() => {
            error.value = '';
            status.value = '';
            isOpen.value = true;
          }}
        >
          {texts.account.email.change}
        </Button>
      )}
    </section>
  );
}
