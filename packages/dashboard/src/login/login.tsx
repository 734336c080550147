import { passkeyAutofill } from '@latchkey/client/passkeys/autofill';
import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
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
import { emailCodeErrors, emailErrors, explain, passkeySignInErrors } from '../error-messages.ts';
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
import { Countdown, useRemaining } from '../ui/countdown.tsx';
import { CodeField, EmailField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { Icon } from '../ui/icon.tsx';
import { approvedIcon, emailIcon, externalIcon, passkeyIcon } from '../ui/icons.ts';
import { Delayed, LoadingMessage, Placeholder } from '../ui/loading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { Outcome } from '../ui/outcome.tsx';
import { webmailOf } from './webmail.ts';

type Step =
  | { at: 'loading' }
  | { at: 'address' }
  | { at: 'sent'; email: string; request: string; until: number }
  | { at: 'signedIn'; as: string; inAnotherTab: boolean };

const query = new URLSearchParams(location.search);
/** A sign-in this tab was waiting for before a reload. Its code can still be entered. */
const pending = recallPendingSignIn(Date.now());
/** An email requested in this browser, perhaps in another tab. Its link signs in here with one click. */
const earlier = recallSentEmail(Date.now());
const next = safeNext(query.get('next') ?? pending?.next, location.origin);

const sentStep = ({ email, request, until }: PendingSignIn): Step => ({
  at: 'sent',
  email,
  request,
  until,
});

const step = signal<Step>(pending === undefined ? { at: 'loading' } : sentStep(pending));
const email = signal(earlier?.email ?? '');
const code = signal('');
const error = signal('');
const status = signal('');
/** What happened before the user came here, such as signing out. */
const notice = signal('');
/** Whether the error is about the field, which then takes the focus. */
const isFieldError = signal(false);
const busy = busyState<'email' | 'code' | 'passkey'>();

const signOutMessages = {
  session: "You're signed out.",
  everywhere: "You're signed out everywhere, including on your devices.",
  deleted: 'Your account has been deleted.',
} satisfies Record<SignOut, string>;

const alreadySent = (address: string) =>
  `We already sent an email to ${address}. You can open its link here, or request a new email to enter a code.`;

/** Sends a sign-in email. A failure leaves the step and the input unchanged. */
const requestEmail = (address: string) =>
  busy.run(async () => {
    const isResend = step.value.at === 'sent';
    notice.value = '';
    error.value = '';
    isFieldError.value = !isResend;
    status.value = '';
    if (address === '') {
      error.value = 'Enter your email address.';
      return undefined;
    }
    const result = await requestMagicLink(address);
    if (!result.ok) {
      error.value = explain(result.problem, emailErrors);
      return undefined;
    }
    const { request, expires_in } = result.value;
    const sent = { email: address, until: Date.now() + expires_in * 1000, next, request };
    rememberPendingSignIn(sent);
    code.value = '';
    step.value = sentStep(sent);
    status.value = isResend ? 'We sent a new email. Use the code from the latest one.' : '';
    return undefined;
  }, 'email');

const enterCode = (request: string) =>
  busy.run(async () => {
    error.value = '';
    isFieldError.value = true;
    status.value = '';
    const entered = code.value.trim();
    if (entered === '') {
      error.value = 'Enter the code from the email.';
      return undefined;
    }
    const result = await verifyMagicLink({ request, code: entered });
    if (!result.ok) {
      error.value = explain(result.problem, emailCodeErrors);
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
    isFieldError.value = false;
    error.value = explain(result.problem, passkeySignInErrors);
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
    const assertion = await requiringCookies(() => askForPasskey(api));
    if (assertion.ok && (await redeem(assertion.value)) === 'leaving') return 'leaving';
    if (!assertion.ok) {
      isFieldError.value = false;
      error.value = explain(assertion.problem, passkeySignInErrors);
    }
    autofill.start();
    return undefined;
  }, 'passkey');

function showForm(): void {
  step.value = { at: 'address' };
  autofill.start();
}

const PasskeyButton = () => (
  <button
    type="button"
    id="use-passkey"
    class="primary wide-button"
    disabled={busy.now.value}
    onClick={() => void usePasskey()}
  >
    <Icon path={passkeyIcon} />
    {busy.label('passkey', 'Sign in with a passkey')}
  </button>
);

const EmailForm = () => (
  <Form onSubmit={() => requestEmail(email.value.trim())}>
    <EmailField
      id="email"
      label="Email address"
      {...(earlier === undefined ? {} : { hint: alreadySent(earlier.email) })}
      value={email}
      error={isFieldError.value ? error.value : ''}
      takesFocus
      autoComplete="username webauthn"
    />
    <button type="submit" class={passkeysSupported ? 'wide-button' : 'primary'} disabled={busy.now.value}>
      <Icon path={emailIcon} />
      {busy.label('email', 'Email me a link')}
    </button>
  </Form>
);

function AddressStep() {
  // Live regions only announce changes, so the text is set after mounting.
  useEffect(() => {
    const signOut = takeSignOut();
    if (signOut !== undefined) notice.value = signOutMessages[signOut];
  }, []);
  return (
    <>
      <div class="intro">
        <Heading key="address">Sign in</Heading>
        <p class="quiet">No password needed.</p>
      </div>
      <StatusMessage id="notice">{notice.value}</StatusMessage>
      <ErrorMessage text={error.value} />
      {passkeysSupported ? (
        <>
          <PasskeyButton />
          <p class="or">or</p>
        </>
      ) : null}
      <EmailForm />
      <StatusMessage>{status.value}</StatusMessage>
    </>
  );
}

type Sent = Extract<Step, { at: 'sent' }>;

const EnterCode = ({ sent: { email: address, request, until } }: { sent: Sent }) => (
  <>
    <p id="sent-to">
      We sent an email to <strong>{address}</strong>. Open the link in it, or enter the code here. Both expire
      in <Countdown until={until} />.
    </p>
    <OpenWebmail email={address} />
    <ErrorMessage text={error.value} />
    <Form onSubmit={() => enterCode(request)}>
      <CodeField
        id="code"
        label="Code from the email"
        value={code}
        error={isFieldError.value ? error.value : ''}
        autoComplete="one-time-code"
        maxLength={fieldLimits.emailCode}
      />
      <button type="submit" class="primary" disabled={busy.now.value}>
        {busy.label('code', 'Sign in')}
      </button>
    </Form>
  </>
);

const Expired = ({ email: address }: { email: string }) => (
  <>
    <p id="sent-to">
      The email we sent to <strong>{address}</strong> has expired. Its link and its code no longer work.
    </p>
    <ErrorMessage text={error.value} />
  </>
);

function OpenWebmail({ email: address }: { email: string }) {
  const webmail = webmailOf(address);
  if (webmail === undefined) return null;
  return (
    <p>
      <a id="webmail" href={webmail.url} target="_blank" rel="noreferrer">
        Open {webmail.name} <Icon path={externalIcon} />
      </a>
    </p>
  );
}

function SentStep({ sent }: { sent: Sent }) {
  const isExpired = useRemaining(sent.until) === 0;
  return (
    <>
      <div class="outcome">
        <span class="sign waiting-for-email">
          <Icon path={emailIcon} />
        </span>
      </div>
      <Heading key="sent" takesFocus>
        Check your email
      </Heading>
      {isExpired ? <Expired email={sent.email} /> : <EnterCode sent={sent} />}
      <StatusMessage>{status.value}</StatusMessage>
      <div class="links">
        <button
          type="button"
          class={isExpired ? 'primary wide-button' : 'plain'}
          disabled={busy.now.value}
          onClick={() => void requestEmail(sent.email)}
        >
          {busy.label('email', 'Send a new email')}
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
          Use a different email address
        </button>
      </div>
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
    <Outcome key="signedIn" tone="success" icon={approvedIcon} heading="You're signed in" takesFocus>
      {inAnotherTab ? (
        <p>You signed in as {who} in another tab. Close this one, or continue here.</p>
      ) : (
        <p>You're signed in as {who}.</p>
      )}
      <a class="button wide-button" href={next}>
        Continue
      </a>
      <div class="links">
        <button type="button" class="plain" onClick={showForm}>
          Use a different account
        </button>
      </div>
    </Outcome>
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
    <LoadingMessage isLoading={step.value.at === 'loading'} />
    <CurrentStep />
  </>
);

// The page behind the emailed link removes the entry once it has signed in.
window.addEventListener('storage', (event) => {
  if (event.key !== sentEmailKey || event.newValue !== null || step.value.at !== 'sent' || busy.now.value)
    return;
  void getSignedInUser().then((me) => {
    if (!me.ok || step.value.at !== 'sent') return;
    forgetPendingSignIn();
    step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: true };
  });
});

/** After this, show the form: it must work without knowing who is signed in. */
const lookupTimeoutMilliseconds = 2_000;

/** Shows who is signed in, with a button to continue, or else the sign-in form. */
async function start(): Promise<void> {
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, lookupTimeoutMilliseconds));
  const me = isSwitchingAccount(query) ? undefined : await Promise.race([getSignedInUser(), timeout]);
  if (me?.ok) step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: false };
  else showForm();
}

mount(LoginPage);
if (pending === undefined) void start();
