import { passkeyAutofill } from '@latchkey/client/passkeys/autofill';
import { type Assertion, askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  api,
  byCookie,
  getSignedInUser,
  requestMagicLink,
  requiringCookies,
  verifyMagicLink,
} from '../api.ts';
import { duration, emailErrors, explain } from '../error-messages.ts';
import { isSwitchingAccount, safeNext } from '../next.ts';
import { noteEmailSignIn } from '../passkey-offer.ts';
import {
  forgetPendingSignIn,
  forgetSentEmail,
  type PendingSignIn,
  recallPendingSignIn,
  recallSentEmail,
  rememberPendingSignIn,
  sentEmailKey,
} from '../sign-in-emails.ts';
import { type SignOut, takeSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { CodeField, EmailField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { Delayed, LoadingMessage, Placeholder } from '../ui/loading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';

type Step =
  | { at: 'loading' }
  | { at: 'address' }
  | { at: 'sent'; email: string; request: string; expiresInSeconds: number }
  | { at: 'signedIn'; as: string; inAnotherTab: boolean };

const query = new URLSearchParams(location.search);
/** A mail that this tab asked for before it was reloaded: its code can still be typed. */
const waiting = recallPendingSignIn(Date.now());
/** A mail that this browser asked for, perhaps in another tab: its link is still good here. */
const earlier = recallSentEmail(Date.now());
const next = safeNext(query.get('next') ?? waiting?.next, location.origin);

const sentStep = ({ email, request, until }: PendingSignIn): Step => ({
  at: 'sent',
  email,
  request,
  expiresInSeconds: Math.ceil((until - Date.now()) / 1000),
});

const step = signal<Step>(waiting === undefined ? { at: 'loading' } : sentStep(waiting));
const email = signal(earlier?.email ?? '');
const code = signal('');
const error = signal('');
const status = signal('');
/** What happened before the person came here. */
const notice = signal('');
/** The message is about what was typed, so the field takes the focus. */
const aboutField = signal(false);
const busy = busyState<'mail' | 'code' | 'passkey'>();

const emailFormErrors = {
  ...emailErrors,
  invalid_request: 'That does not look like a mail address. It should look like ada@example.com.',
};
const passkeyErrors = {
  passkeys_unsupported: 'This browser cannot use passkeys. Have a mail sent to you instead.',
  no_authenticator:
    'This device has no passkey that it could use here. Use a phone or a security key, or have a mail sent to you.',
  passkey_cancelled:
    'No passkey was used: that was cancelled, or took too long. You can try again, or have a mail sent to you.',
  invalid_grant: 'That passkey did not work. Try again, or have a mail sent to you.',
  unknown_credential:
    'That passkey is not registered here any more. Use another one, or have a mail sent to you.',
};
const codeErrors = {
  invalid_request: 'That is not a code. It is eight letters, like BCDF-GHJK.',
  invalid_grant:
    'That code did not work. Check it against the newest mail; if it still fails, its time may be over: send a new mail.',
};

const signOutMessages = {
  session: 'You are signed out in this browser.',
  everywhere: 'You are signed out everywhere. Every browser and terminal has to sign in again.',
  deleted: 'Your account has been deleted.',
} satisfies Record<SignOut, string>;

const alreadySent = (address: string) =>
  `We sent a mail to ${address} already. The link in it works here; to type a code, have a new mail sent.`;

/** Sends a mail to `address`; a failure leaves the page, and what was typed, as it is. */
const ask = (address: string) =>
  busy.run(async () => {
    const again = step.value.at === 'sent';
    notice.value = '';
    error.value = '';
    aboutField.value = !again;
    status.value = '';
    if (address === '') {
      error.value = 'Type your mail address first.';
      return undefined;
    }
    const result = await requestMagicLink(address);
    if (!result.ok) {
      error.value = explain(result.problem, emailFormErrors);
      return undefined;
    }
    const { request, expires_in } = result.value;
    const sent = { email: address, until: Date.now() + expires_in * 1000, next, request };
    rememberPendingSignIn(sent);
    code.value = '';
    step.value = sentStep(sent);
    status.value = again ? 'A new mail is on its way. Use the code of the newest one.' : '';
    return undefined;
  }, 'mail');

const enter = (request: string) =>
  busy.run(async () => {
    error.value = '';
    aboutField.value = true;
    status.value = '';
    const typed = code.value.trim();
    if (typed === '') {
      error.value = 'Type the code from the mail first.';
      return undefined;
    }
    const result = await verifyMagicLink({ request, code: typed });
    if (!result.ok) {
      error.value = explain(result.problem, codeErrors);
      return undefined;
    }
    forgetSentEmail();
    noteEmailSignIn();
    status.value = 'Signed in.';
    location.replace(next);
    return 'leaving';
  }, 'code');

async function redeem(assertion: Assertion): Promise<'leaving' | undefined> {
  error.value = '';
  const result = await requiringCookies(() => redeemPasskey(api, assertion, byCookie));
  if (!result.ok) {
    aboutField.value = false;
    error.value = explain(result.problem, passkeyErrors);
    return undefined;
  }
  forgetPendingSignIn();
  status.value = 'Signed in.';
  location.replace(next);
  return 'leaving';
}

const autofill = passkeyAutofill(api, async (assertion) => {
  let outcome: 'leaving' | undefined;
  await busy.run(async () => {
    outcome = await redeem(assertion);
    return outcome;
  });
  return outcome === 'leaving';
});

const usePasskey = () =>
  busy.run(async () => {
    error.value = '';
    notice.value = '';
    await autofill.stop();
    const asked = await requiringCookies(() => askForPasskey(api));
    if (asked.ok && (await redeem(asked.value)) === 'leaving') return 'leaving';
    if (!asked.ok) {
      aboutField.value = false;
      error.value = explain(asked.problem, passkeyErrors);
    }
    autofill.start();
    return undefined;
  }, 'passkey');

function showForm(): void {
  step.value = { at: 'address' };
  autofill.start();
}

function AddressStep() {
  // Put into a region that is there already, so that it is read out.
  useEffect(() => {
    const signOut = takeSignOut();
    if (signOut !== undefined) notice.value = signOutMessages[signOut];
  }, []);
  return (
    <>
      <Heading key="address">Sign in</Heading>
      <StatusMessage id="notice">{notice.value}</StatusMessage>
      <p>Use a passkey, or let us send you a mail with a link and a code. There is no password.</p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => ask(email.value.trim())}>
        <EmailField
          id="email"
          label="Mail address"
          {...(earlier === undefined ? {} : { hint: alreadySent(earlier.email) })}
          value={email}
          error={aboutField.value ? error.value : ''}
          takesFocus
          autoComplete="username webauthn"
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.label('mail', 'Send me a mail')}
        </button>
      </Form>
      <p class="or">or</p>
      <button
        type="button"
        id="use-passkey"
        class="wide"
        disabled={busy.now.value}
        onClick={() => void usePasskey()}
      >
        {busy.label('passkey', 'Sign in with a passkey')}
      </button>
      <StatusMessage>{status.value}</StatusMessage>
    </>
  );
}

function SentStep({ sent }: { sent: Extract<Step, { at: 'sent' }> }) {
  return (
    <>
      <Heading key="sent" takesFocus>
        Check your mail
      </Heading>
      <p>
        We sent a mail to <strong>{sent.email}</strong>. Click the link in it, or type its code here. Both
        work for {duration(sent.expiresInSeconds)}.
      </p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => enter(sent.request)}>
        <CodeField
          id="code"
          label="Code from the mail"
          value={code}
          error={aboutField.value ? error.value : ''}
          autoComplete="one-time-code"
          maxLength={fieldLimits.emailCode}
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.label('code', 'Sign in')}
        </button>
      </Form>
      <StatusMessage>{status.value}</StatusMessage>
      <p class="row">
        <button type="button" class="plain" disabled={busy.now.value} onClick={() => void ask(sent.email)}>
          {busy.label('mail', 'Send a new mail')}
        </button>
        <button
          type="button"
          class="plain"
          disabled={busy.now.value}
          onClick={() => {
            error.value = '';
            status.value = '';
            forgetPendingSignIn();
            showForm();
          }}
        >
          Use another address
        </button>
      </p>
    </>
  );
}

function SignedIn({ as, inAnotherTab }: Extract<Step, { at: 'signedIn' }>) {
  const who = (
    <strong>
      <bdi>{as}</bdi>
    </strong>
  );
  return (
    <>
      <Heading key="signedIn" takesFocus>
        You are signed in
      </Heading>
      {inAnotherTab ? (
        <p>You signed in as {who} in another tab. You can close this one, or continue here.</p>
      ) : (
        <p>This browser is signed in as {who}.</p>
      )}
      <p class="row">
        <a class="button" href={next}>
          Continue
        </a>
        <button type="button" class="plain" onClick={showForm}>
          Use another account
        </button>
      </p>
    </>
  );
}

function CurrentStep() {
  const now = step.value;
  switch (now.at) {
    case 'loading':
      return (
        <Delayed>
          <Placeholder entries={1} />
        </Delayed>
      );
    case 'address':
      return <AddressStep />;
    case 'sent':
      return <SentStep sent={now} />;
    case 'signedIn':
      return <SignedIn {...now} />;
  }
}

const LoginPage = () => (
  <>
    <LoadingMessage isWaiting={step.value.at === 'loading'} />
    <CurrentStep />
  </>
);

// The page behind the mail's link takes the marker away when it has signed in.
window.addEventListener('storage', (event) => {
  if (event.key !== sentEmailKey || event.newValue !== null || step.value.at !== 'sent' || busy.now.value)
    return;
  void getSignedInUser().then((me) => {
    if (!me.ok || step.value.at !== 'sent') return;
    forgetPendingSignIn();
    step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: true };
  });
});

/** Whoever cannot be told in this time gets the form: it must not depend on knowing who is signed in. */
const patienceMilliseconds = 2_000;

/** Somebody who is signed in is told so, and goes on with one click. */
async function start(): Promise<void> {
  const patience = new Promise<undefined>((resolve) => setTimeout(resolve, patienceMilliseconds));
  const me = isSwitchingAccount(query) ? undefined : await Promise.race([getSignedInUser(), patience]);
  if (me?.ok) step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: false };
  else showForm();
}

mount(LoginPage);
if (waiting === undefined) void start();
