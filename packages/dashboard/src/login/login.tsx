import { passkeyAutofill } from '@latchkey/client/passkeys/autofill';
import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { type Assertion, askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';
import { formatCode, normalizeUserCode } from '@latchkey/contract/codes';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, byCookie, getSignedInUser, requestMagicLink, requiringCookies } from '../api.ts';
import { EmailCodeForm } from '../email-code-form.tsx';
import { emailErrors, explain, passkeySignInErrors } from '../error-messages.ts';
import { isSwitchingAccount, safeNext, signInQuery } from '../next.ts';
import {
  forgetPendingSignIn,
  onLinkUsed,
  recallPendingSignIn,
  recallSentEmail,
  rememberPendingSignIn,
} from '../sign-in-emails.ts';
import { emailSignInNote, passkeyNote, signOutNote } from '../tab-note.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Countdown, useRemaining } from '../ui/countdown.tsx';
import { Button, ErrorMessage, Heading, Icon, StatusMessage } from '../ui/elements.tsx';
import { Address } from '../ui/facts.tsx';
import { EmailField, Form } from '../ui/form.tsx';
import { approvedIcon, emailIcon, externalIcon, passkeyIcon } from '../ui/icons.ts';
import { Delayed, mount, Outcome, Placeholder } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';
import { webmailOf } from './webmail.ts';

type Step =
  | { at: 'loading' }
  | { at: 'address' }
  | { at: 'sent'; email: string; request: string; until: number }
  | { at: 'signedIn'; as: string; inAnotherTab: boolean };

const query = signInQuery(location);
/** A sign-in this tab was waiting for before a reload. Its code can still be entered. */
const pending = recallPendingSignIn(Date.now());
/** An email requested in this browser, perhaps in another tab. Its link signs in here with one click. */
const earlier = recallSentEmail(Date.now());
const next = safeNext(query.get('next') ?? pending?.next, location.origin);

const step = signal<Step>(pending === undefined ? { at: 'loading' } : { at: 'sent', ...pending });
/** What a program that sent the person here suggests. @see OpenID Connect Core 1.0 section 3.1.2.1 */
const suggestedEmail = new URL(next, location.origin).searchParams
  .get('login_hint')
  ?.slice(0, fieldLimits.emailAddress);
const email = signal(suggestedEmail ?? earlier?.email ?? '');
const status = signal('');
/** What happened before the user came here, such as signing out. */
const notice = signal('');
const busy = busyState<'email' | 'code' | 'passkey'>();
const { error } = busy;
// What was said is about the action before.
effect(() => {
  if (busy.now.value) status.value = '';
});

const signOutMessages: Readonly<Record<string, string>> = {
  session: texts.login.signedOut,
  everywhere: texts.login.signedOutEverywhere,
  deleted: texts.login.deleted,
};

/** Sends a sign-in email. A failure leaves the step and the input unchanged. */
const requestEmail = (address: string) =>
  busy.run(async () => {
    const isResend = step.value.at === 'sent';
    notice.value = '';
    if (address === '') return texts.common.enterEmailAddress;
    const result = await requestMagicLink(address);
    if (!result.ok) return explain(result.problem, emailErrors);
    const { request, expires_in } = result.value;
    const sent = { email: address, until: Date.now() + expires_in * 1000, next, request };
    rememberPendingSignIn(sent);
    step.value = { at: 'sent', ...sent };
    status.value = isResend ? texts.login.sentAgain : '';
    return undefined;
  }, 'email');

function signedInByEmail(): undefined {
  emailSignInNote.leave('1');
  status.value = texts.common.signedIn;
  return leaveTo(next);
}

async function redeem(assertion: Assertion): Promise<string | undefined> {
  const result = await requiringCookies(() => redeemPasskey(api, assertion, byCookie));
  if (!result.ok) return explain(result.problem, passkeySignInErrors);
  forgetPendingSignIn();
  passkeyNote.leave('1');
  status.value = texts.common.signedIn;
  return leaveTo(next);
}

const autofill = passkeyAutofill(api, async (assertion) => {
  let problem: string | undefined = '';
  await busy.run(async () => {
    problem = await redeem(assertion);
    return problem;
  }, 'passkey');
  return problem === undefined;
});

const usePasskey = () =>
  busy.run(async () => {
    notice.value = '';
    await autofill.stop();
    const assertion = await requiringCookies(() => askForPasskey(api));
    const problem = assertion.ok
      ? await redeem(assertion.value)
      : explain(assertion.problem, passkeySignInErrors);
    if (problem !== undefined) autofill.start();
    return problem;
  }, 'passkey');

function showForm(): void {
  step.value = { at: 'address' };
  autofill.start();
}

/** What this browser was signed in with before comes first. */
const passkeyFirst = passkeysSupported && passkeyNote.read() !== null;

const WithPasskey = () => (
  <>
    <ErrorMessage text={busy.errorOf('passkey')} />
    <Button
      id="use-passkey"
      class={passkeyFirst ? 'primary wide-button' : 'wide-button'}
      busy={busy}
      onClick={usePasskey}
    >
      <Icon path={passkeyIcon} />
      {busy.label(texts.login.withPasskey, 'passkey')}
    </Button>
  </>
);

/** The address may be one that a link of another site suggests. */
const EmailButton = suggestedEmail === undefined ? Button : ReviewedButton;

const EmailForm = () => (
  <Form onSubmit={() => requestEmail(typedAddress(email.value))}>
    <EmailField
      id="email"
      label={texts.common.emailAddress}
      hint={earlier && fill(texts.login.alreadySent, { email: earlier.email })}
      value={email}
      error={busy.errorOf('email')}
      takesFocus
      autoComplete="username webauthn"
    />
    <EmailButton class={passkeyFirst ? 'wide-button' : 'primary'} busy={busy}>
      <Icon path={emailIcon} />
      {busy.label(texts.login.emailLink, 'email')}
    </EmailButton>
  </Form>
);

/** What waits for the person to sign in. */
function Waiting() {
  const { pathname, searchParams } = new URL(next, location.origin);
  if (pathname === '/authorize')
    return (
      <p id="waiting" class="intro">
        {texts.login.programWaiting}
      </p>
    );
  const userCode = normalizeUserCode(searchParams.get('user_code') ?? '');
  if (pathname !== '/device' || userCode === undefined) return null;
  return (
    <div id="waiting" class="code-box">
      <p class="quiet">{texts.login.deviceWaiting}</p>
      <output class="big-code" translate={false}>
        {formatCode(userCode)}
      </output>
    </div>
  );
}

function AddressStep() {
  // Live regions only announce changes, so the text is set after mounting.
  useEffect(() => {
    notice.value = signOutMessages[signOutNote.read() ?? ''] ?? notice.value;
    signOutNote.remove();
  }, []);
  return (
    <>
      <div class="intro">
        <Heading key="address">{texts.common.signIn}</Heading>
        <p class="quiet">{texts.login.noPassword}</p>
      </div>
      <Waiting />
      <StatusMessage id="notice" text={notice.value} />
      {passkeyFirst ? <WithPasskey /> : <EmailForm />}
      {passkeysSupported ? <p class="or">{texts.login.or}</p> : null}
      {passkeyFirst ? <EmailForm /> : passkeysSupported ? <WithPasskey /> : null}
      <StatusMessage text={status.value} />
    </>
  );
}

function OpenWebmail({ email: address }: { email: string }) {
  const webmail = webmailOf(address);
  if (webmail === undefined) return null;
  return (
    <p>
      <a id="webmail" href={webmail.url} target="_blank" rel="noreferrer">
        {fill(texts.login.openWebmail, { webmail: webmail.name })} <Icon path={externalIcon} />
      </a>
    </p>
  );
}

/** Where the person enters the code, until it expires. */
function SentStep({ email: address, request, until }: Extract<Step, { at: 'sent' }>) {
  const isExpired = useRemaining(until) === 0;
  return (
    <>
      <Outcome
        tone="sent"
        icon={emailIcon}
        heading={isExpired ? texts.login.expiredHeading : texts.login.checkEmail}
        takesFocus={isExpired}
      >
        <p id="sent-to">
          {fillParts(isExpired ? texts.login.expired : texts.login.sent, {
            email: <strong>{address}</strong>,
            time: <Countdown until={until} />,
          })}
        </p>
      </Outcome>
      {isExpired ? null : <OpenWebmail email={address} />}
      <ErrorMessage text={busy.errorOf('email')} />
      {isExpired ? null : (
        <EmailCodeForm
          id="code"
          label={texts.common.signIn}
          describedBy="sent-to"
          request={request}
          busy={busy}
          onSignedIn={signedInByEmail}
        />
      )}
      <StatusMessage text={status.value} />
      <div class="links">
        <Button
          class={isExpired ? 'primary wide-button' : 'plain'}
          busy={busy}
          onClick={() => requestEmail(address)}
        >
          {busy.label(texts.common.newEmail, 'email')}
        </Button>
        <Button
          class="plain"
          busy={busy}
          onClick={() => {
            error.value = '';
            status.value = '';
            forgetPendingSignIn();
            showForm();
          }}
        >
          {texts.common.otherEmail}
        </Button>
      </div>
    </>
  );
}

function SignedIn({ as, inAnotherTab }: Extract<Step, { at: 'signedIn' }>) {
  const who = <Address>{as}</Address>;
  return (
    <Outcome tone="success" icon={approvedIcon} heading={texts.login.signedIn} takesFocus>
      <p>
        {fillParts(inAnotherTab ? texts.login.signedInElsewhere : texts.login.signedInAs, { email: who })}
      </p>
      <a class="button wide-button" href={next}>
        {texts.common.continue}
      </a>
      <div class="links">
        <Button class="plain" onClick={showForm}>
          {texts.common.otherAccount}
        </Button>
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
      return <SentStep {...now} />;
    case 'signedIn':
      return <SignedIn {...now} />;
  }
}

onLinkUsed(() => {
  if (step.value.at !== 'sent' || busy.now.value) return;
  void getSignedInUser().then((me) => {
    if (!me.ok || step.value.at !== 'sent') return;
    forgetPendingSignIn();
    step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: true };
  });
});

/** After this, show the form: it must work without knowing who is signed in. */
const lookupTimeoutMs = 2_000;

/** Shows who is signed in, with a button to continue, or else the sign-in form. */
async function start(): Promise<void> {
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, lookupTimeoutMs));
  const me = isSwitchingAccount(query) ? undefined : await Promise.race([getSignedInUser(), timeout]);
  if (me?.ok) step.value = { at: 'signedIn', as: me.value.email, inAnotherTab: false };
  else showForm();
}

mount(CurrentStep, () => step.value.at === 'loading');
if (pending === undefined) void start();
