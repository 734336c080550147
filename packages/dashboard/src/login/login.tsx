import { passkeyAutofill } from '@latchkey/client/passkeys/autofill';
import { type Assertion, askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';
import { limits } from '@latchkey/contract/limits';
import { signal } from '@preact/signals';
import { api, byCookie, getProfile, requestMagicLink, signingIn, verifyMagicLink } from '../api.ts';
import { askedKey, forgetAsked, recallAsked, rememberAsked } from '../asked.ts';
import { safeNext } from '../next.ts';
import { noteMailLogin } from '../passkeys/after-mail.ts';
import { busyState } from '../ui/busy.ts';
import { CodeField, EmailField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { duration, explain, mailWords } from '../words.ts';

/** The `request` of a sent mail is a secret of this page: it lives here, in memory, and nowhere else. */
type Step =
  | { at: 'address' }
  | { at: 'sent'; email: string; request: string; expiresInSeconds: number }
  | { at: 'signedInElsewhere'; as: string };

const query = new URLSearchParams(location.search);
const next = safeNext(query.get('next'), location.origin);

/** A mail that was asked for before this page was loaded: its link is still good here, but nothing knows its code. */
const earlier = recallAsked(Date.now());

const step = signal<Step>({ at: 'address' });
const email = signal(earlier?.email ?? '');
const code = signal('');
const error = signal('');
const status = signal('');
/** The message is about what was typed, so the field takes the focus. */
const aboutField = signal(false);
const busy = busyState();

const askWords = {
  ...mailWords,
  invalid_request: 'That does not look like a mail address. It should look like ada@example.com.',
};
const passkeyWords = {
  passkeys_unsupported: 'This browser cannot use passkeys. Have a mail sent to you instead.',
  no_authenticator:
    'This device has no passkey that it could use here. Use a phone or a security key, or have a mail sent to you.',
  passkey_cancelled:
    'No passkey was used: that was cancelled, or took too long. You can try again, or have a mail sent to you.',
  invalid_grant: 'That passkey did not work. Try again, or have a mail sent to you.',
  unknown_credential:
    'That passkey is not registered here any more. Use another one, or have a mail sent to you.',
};
const codeWords = {
  invalid_request: 'That is not a code. It is eight letters, like BCDF-GHJK.',
  invalid_grant:
    'That code did not work. Check it against the newest mail; if it still fails, its time may be over: send a new mail.',
};

const alreadySent = (address: string) =>
  `We sent a mail to ${address} already. The link in it works here; to type a code, have a new mail sent.`;

/** Sends a mail to `address`; a failure leaves the page, and what was typed, as it is. */
const ask = (address: string) =>
  busy.run(async () => {
    const again = step.value.at === 'sent';
    error.value = '';
    aboutField.value = !again;
    status.value = '';
    if (address === '') {
      error.value = 'Type your mail address first.';
      return undefined;
    }
    const result = await requestMagicLink(address);
    if (!result.ok) {
      error.value = explain(result.problem, askWords);
      return undefined;
    }
    const { request, expires_in } = result.value;
    rememberAsked({ email: address, until: Date.now() + expires_in * 1000, next });
    code.value = '';
    step.value = { at: 'sent', email: address, request, expiresInSeconds: expires_in };
    status.value = again ? 'A new mail is on its way. Use the code of the newest one.' : '';
    return undefined;
  });

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
      error.value = explain(result.problem, codeWords);
      return undefined;
    }
    forgetAsked();
    noteMailLogin();
    status.value = 'Signed in.';
    location.replace(next);
    return 'leaving';
  });

async function redeem(assertion: Assertion): Promise<'leaving' | undefined> {
  error.value = '';
  const result = await signingIn(() => redeemPasskey(api, assertion, byCookie));
  if (!result.ok) {
    aboutField.value = false;
    error.value = explain(result.problem, passkeyWords);
    return undefined;
  }
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
    await autofill.stop();
    const asked = await signingIn(() => askForPasskey(api));
    if (asked.ok && (await redeem(asked.value)) === 'leaving') return 'leaving';
    if (!asked.ok) {
      aboutField.value = false;
      error.value = explain(asked.problem, passkeyWords);
    }
    autofill.start();
    return undefined;
  });

function AddressStep() {
  return (
    <>
      <Heading key="address">Sign in</Heading>
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
          {busy.now.value ? 'One moment…' : 'Send me a mail'}
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
        Sign in with a passkey
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
          maxLength={limits.emailCode}
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? 'One moment…' : 'Sign in'}
        </button>
      </Form>
      <StatusMessage>{status.value}</StatusMessage>
      <p class="row">
        <button type="button" class="plain" disabled={busy.now.value} onClick={() => void ask(sent.email)}>
          Send a new mail
        </button>
        <button
          type="button"
          class="plain"
          disabled={busy.now.value}
          onClick={() => {
            error.value = '';
            status.value = '';
            step.value = { at: 'address' };
          }}
        >
          Use another address
        </button>
      </p>
    </>
  );
}

function LoginPage() {
  const now = step.value;
  if (now.at === 'address') return <AddressStep />;
  if (now.at === 'sent') return <SentStep sent={now} />;
  return (
    <>
      <Heading key="elsewhere" takesFocus>
        You are signed in
      </Heading>
      <p>
        You signed in as{' '}
        <strong>
          <bdi>{now.as}</bdi>
        </strong>{' '}
        in another tab. You can close this one, or go on here.
      </p>
      <p>
        <a class="button" href={next}>
          Continue
        </a>
      </p>
    </>
  );
}

// The page behind the mail's link takes the marker away when it has signed in.
window.addEventListener('storage', (event) => {
  if (event.key !== askedKey || event.newValue !== null || step.value.at !== 'sent' || busy.now.value) return;
  void getProfile().then((me) => {
    if (me.ok && step.value.at === 'sent') step.value = { at: 'signedInElsewhere', as: me.value.email };
  });
});

mount(LoginPage);
autofill.start();
