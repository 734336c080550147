import type { Answer } from '@latchkey/client/operations';
import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { signal } from '@preact/signals';
import {
  api,
  byCookie,
  getProfile,
  listPasskeys,
  type Result,
  requestMagicLink,
  resultOf,
  verifyMagicLink,
} from '../api.ts';
import { duration, emailErrors, explain } from '../error-messages.ts';
import { otherUserEmail, pageUser } from '../page-user.ts';
import { forgetSentEmail, rememberSentEmail, sentEmailKey } from '../sign-in-emails.ts';
import { busyState } from '../ui/busy.ts';
import { Dialog } from '../ui/dialog.tsx';
import { CodeField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorMessage } from '../ui/messages.tsx';

/** Who is asked to confirm, and with what they can. */
interface Person {
  readonly id: string;
  readonly email: string;
  readonly credentialIds: readonly string[];
}

/** The `request` of a sent mail is a secret of this page: it lives here, in memory, and nowhere else. */
interface SentMail {
  readonly request: string;
  readonly expiresInSeconds: number;
}

const asked = signal<{ person: Person; end: (isConfirmed: boolean) => void } | undefined>(undefined);
const sent = signal<SentMail | undefined>(undefined);
const code = signal('');
const error = signal('');
/** The message is about the code that was typed. */
const aboutCode = signal(false);
const busy = busyState<'passkey' | 'mail' | 'code'>();

/** How often this page's login was replaced by a fresh one. */
export const reauthentications = signal(0);

const words = {
  unreachable: 'Latchkey could not be reached. Check your connection and try again.',
  passkey_cancelled:
    'No passkey was used: that was cancelled, or took too long. Try again, or have a mail sent to you.',
  no_authenticator:
    'This device has no passkey that it could use here. Use a phone or a security key, or have a mail sent to you.',
  unknown_credential: 'That passkey is not registered here any more. Use another one, or have a mail sent.',
  invalid_grant: 'That passkey did not work. Try again, or have a mail sent to you.',
};
const codeErrors = {
  unreachable: words.unreachable,
  invalid_request: 'That is not a code. It is eight letters, like BCDF-GHJK.',
  invalid_grant:
    'That code did not work. Check it against the newest mail; if it still fails, send a new mail.',
};

/**
 * Does something of the account that the page shows. What needs a recent login, where this one is not: the person
 * confirms right here that it is them, and it is done again; whoever cancels gets the refusal back, and what was
 * typed is where it was. The page must show `ConfirmDialog`.
 */
export async function withRecentSignIn<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  const result = await work();
  if (result.ok || result.problem.code !== 'insufficient_user_authentication') return result;
  const [me, passkeys] = await Promise.all([getProfile(), listPasskeys()]);
  if (!me.ok) return me;
  if (!passkeys.ok) return passkeys;
  const credentialIds = passkeys.value.passkeys.map(({ credential_id }) => credential_id);
  const isConfirmed = await confirm({ id: me.value.id, email: me.value.email, credentialIds });
  return isConfirmed ? work() : result;
}

async function confirm(person: Person): Promise<boolean> {
  sent.value = undefined;
  code.value = '';
  error.value = '';
  const isConfirmed = await new Promise<boolean>((end) => {
    asked.value = { person, end };
  });
  asked.value = undefined;
  if (isConfirmed) reauthentications.value++;
  return isConfirmed;
}

/** A fresh login of somebody else is no confirmation: nothing is done in their account. */
function accept(login: Answer<'loginWithPasskey'>, person: Person): 'leaving' | undefined {
  if (!('user' in login) || login.user.id !== person.id) {
    location.reload();
    return 'leaving';
  }
  asked.value?.end(true);
  return undefined;
}

const usePasskey = (person: Person) =>
  busy.run(async () => {
    error.value = '';
    aboutCode.value = false;
    const assertion = await resultOf(askForPasskey(api));
    if (!assertion.ok) {
      error.value = explain(assertion.problem, words);
      return undefined;
    }
    if (!person.credentialIds.includes(assertion.value.response.id)) {
      error.value = `That passkey is none of ${person.email}. Choose another one, or have a mail sent to you.`;
      return undefined;
    }
    const login = await resultOf(redeemPasskey(api, assertion.value, byCookie));
    if (login.ok) return accept(login.value, person);
    error.value = explain(login.problem, words);
    return undefined;
  }, 'passkey');

const sendMail = ({ email }: Person) =>
  busy.run(async () => {
    error.value = '';
    aboutCode.value = false;
    const result = await requestMagicLink(email);
    if (!result.ok) {
      error.value = explain(result.problem, { ...words, ...emailErrors });
      return undefined;
    }
    const { request, expires_in } = result.value;
    const next = location.pathname + location.search;
    rememberSentEmail({ email, until: Date.now() + expires_in * 1000, next });
    code.value = '';
    sent.value = { request, expiresInSeconds: expires_in };
    return undefined;
  }, 'mail');

const enter = (person: Person, { request }: SentMail) =>
  busy.run(async () => {
    error.value = '';
    aboutCode.value = true;
    const typed = code.value.trim();
    if (typed === '') {
      error.value = 'Type the code from the mail first.';
      return undefined;
    }
    const login = await verifyMagicLink({ request, code: typed });
    if (!login.ok) {
      error.value = explain(login.problem, codeErrors);
      return undefined;
    }
    forgetSentEmail();
    return accept(login.value, person);
  }, 'code');

// The page behind the mail's link takes the marker away when it has signed in, in this very browser.
window.addEventListener('storage', (event) => {
  const now = asked.value;
  if (event.key !== sentEmailKey || event.newValue !== null || !now || !sent.value || busy.now.value) return;
  void getProfile().then((me) => {
    if (me.ok && me.value.id === now.person.id) now.end(true);
  });
});

function SomebodyElse({ email }: { email: string }) {
  const dismiss = () => {
    otherUserEmail.value = undefined;
  };
  return (
    <Dialog id="somebody-else" title="Somebody else is signed in now" onClose={dismiss}>
      <p>
        In the meantime this browser was signed in as{' '}
        <strong>
          <bdi>{email}</bdi>
        </strong>
        . This page still shows the account of <bdi>{pageUser()?.email}</bdi>. What you did last was not done.
      </p>
      <div class="row">
        <button type="button" class="primary" onClick={() => location.reload()}>
          Load the page again
        </button>
        <button type="button" class="plain" onClick={dismiss}>
          Look at this page first
        </button>
      </div>
    </Dialog>
  );
}

function CodeForm({ person, mail }: { person: Person; mail: SentMail }) {
  return (
    <>
      <p>
        We sent a mail to{' '}
        <strong>
          <bdi>{person.email}</bdi>
        </strong>
        . Type its code here; it works for {duration(mail.expiresInSeconds)}.
      </p>
      <Form onSubmit={() => enter(person, mail)}>
        <CodeField
          id="confirm-code"
          label="Code from the mail"
          value={code}
          error={aboutCode.value ? error.value : ''}
          errorId="confirm-error"
          takesFocus
          autoComplete="one-time-code"
          maxLength={fieldLimits.emailCode}
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.label('code', 'Confirm')}
        </button>
      </Form>
    </>
  );
}

/** Asks for a fresh login in place when `withRecentSignIn` needs it, or says who is signed in instead by now. */
export function ConfirmDialog() {
  if (otherUserEmail.value !== undefined) return <SomebodyElse email={otherUserEmail.value} />;
  const now = asked.value;
  if (now === undefined) return null;
  const { person } = now;
  const mail = sent.value;
  const canTap = passkeysSupported && person.credentialIds.length > 0;
  return (
    <Dialog id="confirm" title="Confirm it is you" onClose={() => now.end(false)}>
      <p>
        You signed in a while ago, and this needs a fresh login as{' '}
        <strong>
          <bdi>{person.email}</bdi>
        </strong>
        . You stay on this page, and what you typed stays in it.
      </p>
      <ErrorMessage id="confirm-error" text={error.value} />
      {mail === undefined ? null : <CodeForm person={person} mail={mail} />}
      <div class="row">
        {canTap && mail === undefined ? (
          <button
            type="button"
            class="primary"
            disabled={busy.now.value}
            onClick={() => void usePasskey(person)}
          >
            {busy.label('passkey', 'Use a passkey')}
          </button>
        ) : null}
        <button
          type="button"
          class={mail !== undefined ? 'plain' : canTap ? '' : 'primary'}
          disabled={busy.now.value}
          onClick={() => void sendMail(person)}
        >
          {busy.label('mail', mail === undefined ? 'Send me a mail with a code' : 'Send a new mail')}
        </button>
        <button type="button" class="plain" onClick={() => now.end(false)}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
