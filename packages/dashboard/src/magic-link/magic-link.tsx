import { signal } from '@preact/signals';
import { type Problem, verifyMagicLink } from '../api.ts';
import { closeLink, linkOutcome, tokenFromLink } from '../email-link.ts';
import { explain } from '../error-messages.ts';
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
 * A person who asked in this browser clicks once; anybody else shows by typing the address that the link is
 * theirs. Opening this page, and running its script, spends nothing: the token leaves only with a click.
 */
type Step = Outcome | { at: 'incomplete' } | { at: 'oneClick'; email: string } | { at: 'address' };
type Outcome = { at: 'used'; next: string };

const token = tokenFromLink('lk_ml_') ?? '';
const asked = recallSentEmail(Date.now());
const next = asked?.next ?? home;

const step = signal<Step>(firstStep());
const email = signal('');
const error = signal('');
const failed = signal<Problem['code'] | undefined>(undefined);
const status = signal('');
const busy = busyState();

function firstStep(): Step {
  if (token === '') return outcomeBefore() ?? { at: 'incomplete' };
  return asked === undefined ? { at: 'address' } : { at: 'oneClick', email: asked.email };
}

function outcomeBefore(): Outcome | undefined {
  const kept = linkOutcome();
  if (kept['at'] !== 'used' || typeof kept['next'] !== 'string') return undefined;
  return { at: 'used', next: safeNext(kept['next'], location.origin) };
}

const signIn = (address: string) =>
  busy.run(async () => {
    error.value = '';
    failed.value = undefined;
    if (address === '') {
      error.value = 'Type your mail address first.';
      return undefined;
    }
    const result = await verifyMagicLink({ token, email: address });
    if (!result.ok) {
      const oneClick = step.value.at === 'oneClick';
      failed.value = result.problem.code;
      error.value = explain(result.problem, {
        invalid_request: 'That does not look like a mail address. It should look like ada@example.com.',
        invalid_grant: oneClick
          ? `This link did not work for ${address}. It may have been used, its time may be over, or it was sent to another address of yours: then type that one.`
          : 'This link did not work. It was sent to another address than this one, or it has been used, or its time is over. Check the address, or ask for a new link.',
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

/** The way on for someone whose link is of no use; beside a form that may still help it is the quieter one. */
const AskAgain = ({ isMain = false }: { isMain?: boolean }) => (
  <p>
    <a class={isMain ? 'button' : ''} href={loginPath(next)}>
      Ask for a new link
    </a>
  </p>
);

function OneClickStep({ address }: { address: string }) {
  return (
    <>
      <Heading key="oneClick">Sign in</Heading>
      <p>You asked for this link in this browser.</p>
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
          This is not my address
        </button>
      </p>
    </>
  );
}

function AddressStep() {
  return (
    <>
      <Heading key="address">Is this link yours?</Heading>
      <p>
        To sign in <strong>here</strong>, type the mail address that the link was sent to. To sign in on the
        screen where you asked for it, type the code of the same mail there; you can then close this page.
      </p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => signIn(email.value.trim())}>
        <EmailField
          id="email"
          label="Mail address"
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
          A part of it is missing here: open it in the mail once more, or copy all of it from there. A link
          that has signed you in already is used up.
        </p>
        <AskAgain isMain />
      </>
    );
  }
  if (now.at === 'used') {
    return (
      <>
        <Heading key="used">This link has been used</Heading>
        <p>It signed you in here, once.</p>
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
      {failed.value === 'invalid_grant' ? <AskAgain /> : null}
    </>
  );
}

mount(MagicLinkPage);
