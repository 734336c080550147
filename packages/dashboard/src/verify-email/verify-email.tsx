import { limits } from '@latchkey/contract/limits';
import { signal } from '@preact/signals';
import { verifyEmailChange } from '../api.ts';
import { home } from '../next.ts';
import { ActButtons } from '../ui/act-buttons.tsx';
import { busyState } from '../ui/busy.ts';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { explain } from '../words.ts';

/** Opening this page, and running its script, spends nothing: the token leaves only with a click. */
type Step = { at: 'incomplete' } | { at: 'question' } | { at: 'kept' } | { at: 'done'; email: string };

const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
const isComplete = /^lk_ec_./.test(token) && token.length <= limits.token;

const step = signal<Step>({ at: isComplete ? 'question' : 'incomplete' });
const error = signal('');
const busy = busyState();

const words = {
  invalid_grant:
    'This link did not work. It may have been used, its time may be over, a newer link may have taken its place, or the login that asked for it has ended. Sign in and ask for a new one.',
  conflict: 'Another Latchkey account has this address, so nothing was changed.',
  unreachable: 'Latchkey could not be reached. Check your connection and try again.',
};

const verify = () =>
  busy.run(async () => {
    error.value = '';
    const result = await verifyEmailChange(token);
    if (!result.ok) {
      error.value = explain(result.problem, words);
      return undefined;
    }
    history.replaceState(null, '', location.pathname);
    step.value = { at: 'done', email: result.value.email };
    return undefined;
  });

function VerifyEmailPage() {
  const now = step.value;
  if (now.at === 'incomplete') {
    return (
      <>
        <Heading key="incomplete">This link is incomplete</Heading>
        <ErrorMessage text="A part of the link is missing. Copy all of it from the mail." />
      </>
    );
  }
  if (now.at === 'kept') {
    return (
      <>
        <Heading key="kept" takesFocus>
          Nothing has changed
        </Heading>
        <p>You can close this page. If you did not ask for this, there is nothing else to do.</p>
      </>
    );
  }
  if (now.at === 'done') {
    return (
      <>
        <Heading key="done" takesFocus>
          Your address is changed
        </Heading>
        <p>
          From now on sign-in mails go to{' '}
          <strong>
            <bdi id="new-email">{now.email}</bdi>
          </strong>
          . The former address got a notice; for 7 days it can take the change back.
        </p>
        <p>
          <a class="button" href={home}>
            Continue
          </a>
        </p>
      </>
    );
  }
  return (
    <>
      <Heading key="question">Use this address for Latchkey?</Heading>
      <p>
        Only go on if you asked for this yourself. The Latchkey account that asked will then have the address
        that this link was sent to.
      </p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={verify}>
        <ActButtons
          harmless="No, leave it"
          onHarmless={() => {
            step.value = { at: 'kept' };
          }}
          act="Yes, use this address"
          isBusy={busy.now.value}
        />
      </Form>
    </>
  );
}

// A second link opened in the same tab changes nothing but the fragment.
window.addEventListener('hashchange', () => location.reload());

mount(VerifyEmailPage);
