import { signal } from '@preact/signals';
import { type Problem, verifyMagicLink } from '../api.ts';
import { closeLink, linkOutcome, tokenFromLink } from '../email-link.ts';
import { emailErrors, explain } from '../error-messages.ts';
import { home, loginPath, safeNext } from '../next.ts';
import { noteEmailSignIn } from '../passkey-offer.ts';
import { forgetSentEmail, recallSentEmail } from '../sign-in-emails.ts';
import { busyState } from '../ui/busy.ts';
import { EmailField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';

/**
 * In the browser that requested the link, one click signs in. Anywhere else, the user must enter the address it was
 * sent to. Opening the page spends nothing, even with scripts running: the token is only sent on a click.
 */
type Step = Outcome | { at: 'incomplete' } | { at: 'oneClick'; email: string } | { at: 'address' };
type Outcome = { at: 'used'; next: string };

const token = tokenFromLink('lk_ml_') ?? '';
const sent = recallSentEmail(Date.now());
const next = sent?.next ?? home;

const step = signal<Step>(firstStep());
const email = signal('');
const error = signal('');
const failureCode = signal<Problem['code'] | undefined>(undefined);
const status = signal('');
const busy = busyState();

function firstStep(): Step {
  if (token === '') return restoredOutcome() ?? { at: 'incomplete' };
  return sent === undefined ? { at: 'address' } : { at: 'oneClick', email: sent.email };
}

function restoredOutcome(): Outcome | undefined {
  const stored = linkOutcome();
  if (stored['at'] !== 'used' || typeof stored['next'] !== 'string') return undefined;
  return { at: 'used', next: safeNext(stored['next'], location.origin) };
}

const signIn = (address: string) =>
  busy.run(async () => {
    error.value = '';
    failureCode.value = undefined;
    if (address === '') {
      error.value = 'Enter your email address.';
      return undefined;
    }
    const result = await verifyMagicLink({ token, email: address });
    if (!result.ok) {
      const oneClick = step.value.at === 'oneClick';
      failureCode.value = result.problem.code;
      error.value = explain(result.problem, {
        invalid_request: emailErrors.invalid_request,
        invalid_grant: oneClick
          ? `This link didn't work for ${address}. It may have been used or have expired. If it was sent to another address, enter that one.`
          : "This link didn't work. It was sent to a different address, it has been used, or it has expired. Check the address, or request a new link.",
      });
      if (oneClick && result.problem.code === 'invalid_grant') step.value = { at: 'address' };
      return undefined;
    }
    closeLink({ at: 'used', next } satisfies Outcome);
    forgetSentEmail();
    noteEmailSignIn();
    status.value = 'Signed in.';
    location.replace(next);
    return 'leaving';
  });

/** Requests a new link. A primary button unless a form above it may still help. */
const RequestNewLink = ({ isPrimary = false }: { isPrimary?: boolean }) => (
  <p>
    <a class={isPrimary ? 'button' : ''} href={loginPath(next)}>
      Request a new link
    </a>
  </p>
);

function OneClickStep({ address }: { address: string }) {
  return (
    <>
      <Heading key="oneClick">Sign in</Heading>
      <p>You requested this link in this browser.</p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => signIn(address)}>
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? (
            'One moment…'
          ) : (
            <>
              Sign in as <bdi>{address}</bdi>
            </>
          )}
        </button>
      </Form>
      <p>
        <button
          type="button"
          class="plain"
          disabled={busy.now.value}
          onClick={() => {
            error.value = '';
            step.value = { at: 'address' };
          }}
        >
          Use a different email address
        </button>
      </p>
    </>
  );
}

function AddressStep() {
  return (
    <>
      <Heading key="address">Confirm your email</Heading>
      <p>
        To sign in <strong>here</strong>, enter the email address the link was sent to. To sign in where you
        requested it, enter the code from the email there instead. You can then close this page.
      </p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => signIn(email.value.trim())}>
        <EmailField
          id="email"
          label="Email address"
          value={email}
          error={error.value}
          takesFocus
          autoComplete="email"
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? 'One moment…' : 'Sign in'}
        </button>
      </Form>
    </>
  );
}

function MagicLinkPage() {
  const now = step.value;
  if (now.at === 'incomplete') {
    return (
      <>
        <Heading key="incomplete">This link is incomplete</Heading>
        <p>
          Part of the link is missing. Open it from the email again, or copy the whole link. Each link works
          only once.
        </p>
        <RequestNewLink isPrimary />
      </>
    );
  }
  if (now.at === 'used') {
    return (
      <>
        <Heading key="used">You've already used this link</Heading>
        <p>It signed you in to this browser.</p>
        <p>
          <a class="button" href={now.next}>
            Continue
          </a>
        </p>
      </>
    );
  }
  return (
    <>
      {now.at === 'oneClick' ? <OneClickStep address={now.email} /> : <AddressStep />}
      <StatusMessage>{status.value}</StatusMessage>
      {failureCode.value === 'invalid_grant' ? <RequestNewLink /> : null}
    </>
  );
}

mount(MagicLinkPage);
