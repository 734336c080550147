import { signal } from '@preact/signals';
import { call, type Problem, verifyMagicLink } from '../api.ts';
import { emailErrors, explain } from '../error-messages.ts';
import { keptOutcome } from '../kept-outcome.ts';
import { home, loginPath } from '../next.ts';
import { forgetSentEmail, recallSentEmail } from '../sign-in-emails.ts';
import { emailSignInNote } from '../tab-note.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading, Icon, StatusMessage } from '../ui/elements.tsx';
import { closeLink, tokenFromLink } from '../ui/email-link-page.tsx';
import { EmailField, Form } from '../ui/form.tsx';
import { approvedIcon, browserIcon, emailIcon, linkIcon } from '../ui/icons.ts';
import { LoadingPage, mount, Outcome } from '../ui/page.tsx';

/**
 * In the browser that requested the link, one click signs in. Anywhere else, the user must enter the address it was
 * sent to. Opening the page spends nothing, even with scripts running: the token is only sent on a click, or to learn
 * whether the link still works.
 */
type Question = { at: 'oneClick'; email: string } | { at: 'address' };
type Step = Ended | Question | { at: 'incomplete' } | { at: 'checking' } | { at: 'dead' };
type Ended = { at: 'used'; next: string };

const token = tokenFromLink('lk_ml_') ?? '';
const sent = recallSentEmail(Date.now());
const next = sent?.next ?? home;

const step = signal<Step>(token === '' ? (keptOutcome<Ended>() ?? { at: 'incomplete' }) : { at: 'checking' });
const email = signal('');
const status = signal('');
const busy = busyState();
const { error } = busy;

const question = (): Question =>
  sent === undefined ? { at: 'address' } : { at: 'oneClick', email: sent.email };

/** Without an answer the page asks all the same, and the answer to the question says what is wrong. */
async function check(): Promise<void> {
  const result = await call('previewMagicLink', { body: { token } });
  step.value = !result.ok && result.problem.code === 'invalid_grant' ? { at: 'dead' } : question();
}

const signIn = (address: string) =>
  busy.run(async () => {
    if (address === '') return texts.common.enterEmailAddress;
    const result = await verifyMagicLink({ token, email: address });
    if (!result.ok) return refused(result.problem, address);
    closeLink({ at: 'used', next } satisfies Ended);
    forgetSentEmail();
    emailSignInNote.leave('1');
    status.value = texts.common.signedIn;
    return leaveTo(next);
  });

/** Tells a link that has ended since the page was opened from an address that is not the link's. */
async function refused(problem: Problem, address: string): Promise<string | undefined> {
  if (problem.code !== 'invalid_grant')
    return explain(problem, { invalid_request: emailErrors.invalid_request });
  await check();
  if (step.value.at === 'dead') return undefined;
  step.value = { at: 'address' };
  return fill(texts.magicLink.wrongAddress, { email: address });
}

function OneClickStep({ address }: { address: string }) {
  return (
    <>
      <div class="intro">
        <Heading key="oneClick">{texts.common.signIn}</Heading>
        <p class="quiet">{texts.magicLink.requestedHere}</p>
      </div>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => signIn(address)}>
        <Button class="primary" busy={busy}>
          {busy.now.value ? (
            texts.common.busy
          ) : (
            <span>{fillParts(texts.magicLink.signInAs, { email: <bdi>{address}</bdi> })}</span>
          )}
        </Button>
      </Form>
      <div class="links">
        <Button
          class="plain"
          busy={busy}
          onClick={() => {
            error.value = '';
            step.value = { at: 'address' };
          }}
        >
          {texts.common.otherEmail}
        </Button>
      </div>
    </>
  );
}

/** Two ways to go on: type the address here, or go back to where the link was requested. */
const AddressStep = () => (
  <>
    <Heading key="address">{texts.magicLink.where}</Heading>
    <section class="way" aria-labelledby="here-heading">
      <h2 id="here-heading">
        <Icon path={browserIcon} />
        {texts.magicLink.here}
      </h2>
      <p class="quiet">{texts.magicLink.hereText}</p>
      <Form onSubmit={() => signIn(typedAddress(email.value))}>
        <EmailField
          id="email"
          label={texts.common.emailAddress}
          value={email}
          error={error.value}
          takesFocus
          autoComplete="email"
        />
        <Button class="primary" busy={busy}>
          {busy.label(texts.common.signIn)}
        </Button>
      </Form>
    </section>
    <section class="way" aria-labelledby="there-heading">
      <h2 id="there-heading">
        <Icon path={emailIcon} />
        {texts.magicLink.there}
      </h2>
      <p class="quiet">{texts.magicLink.thereText}</p>
    </section>
    {error.value === '' ? null : (
      <p class="links">
        <a href={loginPath(next)}>{texts.magicLink.newLink}</a>
      </p>
    )}
  </>
);

/** A link that does not work, for whatever reason. */
const Useless = ({ heading, text }: { heading: string; text: string }) => (
  <Outcome tone="caution" icon={linkIcon} heading={heading} takesFocus>
    <p>{text}</p>
    <p>
      <a class="button wide-button" href={loginPath(next)}>
        {texts.magicLink.newLink}
      </a>
    </p>
  </Outcome>
);

const Used = ({ to }: { to: string }) => (
  <Outcome tone="success" icon={approvedIcon} heading={texts.magicLink.used}>
    <p>{texts.magicLink.usedText}</p>
    <a class="button wide-button" href={to}>
      {texts.common.continue}
    </a>
  </Outcome>
);

function CurrentStep() {
  const now = step.value;
  switch (now.at) {
    case 'checking':
      return <LoadingPage heading={texts.common.signIn} entries={1} />;
    case 'incomplete':
      return <Useless heading={texts.emailLink.incomplete} text={texts.magicLink.incompleteText} />;
    case 'dead':
      return <Useless heading={texts.magicLink.dead} text={texts.magicLink.deadText} />;
    case 'used':
      return <Used to={now.next} />;
    case 'oneClick':
      return <OneClickStep address={now.email} />;
    case 'address':
      return <AddressStep />;
  }
}

mount(
  () => (
    <>
      <CurrentStep />
      <StatusMessage text={status.value} />
    </>
  ),
  () => step.value.at === 'checking',
);
if (step.value.at === 'checking') void check();
