import { signal } from '@preact/signals';
import { call, verifyMagicLink } from '../api.ts';
import { keptOutcome } from '../kept-outcome.ts';
import { home, loginPath } from '../next.ts';
import { forgetSentEmails, linkIdOf, recallSentEmail } from '../sign-in-emails.ts';
import { emailSignInNote } from '../tab-note.ts';
import { fillParts, texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading, Icon, StatusMessage } from '../ui/elements.tsx';
import { closeLink, tokenFromLink } from '../ui/email-link-page.tsx';
import { EmailField, Form } from '../ui/form.tsx';
import { approvedIcon, browserIcon, emailIcon, linkIcon } from '../ui/icons.ts';
import { LoadingPage, mount, Outcome } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';
import { start, type Used } from './link.ts';

const busy = busyState();
const { error } = busy;
const email = signal('');
const status = signal('');
const token = tokenFromLink('lk_ml_');
/** Of a link that is cut off: the last one. */
const sent = recallSentEmail(Date.now(), token && linkIdOf(token));
const next = sent?.next ?? home;
const { step, signIn, askAddress } = start({
  token: token ?? '',
  sentTo: sent?.email,
  kept: keptOutcome<Used>(),
  busy,
  preview: (token) => call('previewMagicLink', { body: { token } }),
  verify: verifyMagicLink,
  end() {
    closeLink({ at: 'used', next } satisfies Used);
    forgetSentEmails();
    emailSignInNote.leave('1');
    status.value = texts.common.signedIn;
    return leaveTo(next);
  },
});

function OneClickStep({ address }: { address: string }) {
  return (
    <>
      <div class="intro">
        <Heading key="oneClick">{texts.common.signIn}</Heading>
        <p class="quiet">{texts.magicLink.requestedHere}</p>
      </div>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => signIn(address)}>
        <ReviewedButton class="primary" busy={busy}>
          {busy.now.value ? (
            texts.common.busy
          ) : (
            <span>{fillParts(texts.magicLink.signInAs, { email: <bdi>{address}</bdi> })}</span>
          )}
        </ReviewedButton>
      </Form>
      <div class="links">
        <Button class="plain" busy={busy} onClick={askAddress}>
          {texts.common.otherEmail}
        </Button>
      </div>
    </>
  );
}

/** Two ways to go on: type the address here, or go back to where the link was requested. */
const AddressStep = () => (
  <>
    <div class="intro">
      <Heading key="address">{texts.magicLink.where}</Heading>
    </div>
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

const AlreadyUsed = ({ to }: { to: string }) => (
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
      return <AlreadyUsed to={now.next} />;
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
