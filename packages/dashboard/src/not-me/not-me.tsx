import { limits } from '@latchkey/contract/limits';
import type { DisownedNotice } from '@latchkey/contract/notices';
import { signal } from '@preact/signals';
import { disownNotice } from '../api.ts';
import { home } from '../next.ts';
import { ActButtons } from '../ui/act-buttons.tsx';
import { busyState } from '../ui/busy.ts';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { explain } from '../words.ts';
import { doneWords, failureWords } from './words.ts';

/** Opening this page, and running its script, changes nothing: the token leaves only with a click. */
type Step =
  | { at: 'incomplete' }
  | { at: 'question' }
  | { at: 'kept' }
  | { at: 'done'; notice: DisownedNotice };

const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
const isComplete = /^lk_nm_./.test(token) && token.length <= limits.token;

const step = signal<Step>({ at: isComplete ? 'question' : 'incomplete' });
const error = signal('');
const busy = busyState();

const disown = () =>
  busy.run(async () => {
    error.value = '';
    const result = await disownNotice(token);
    if (!result.ok) {
      error.value = explain(result.problem, failureWords);
      return undefined;
    }
    step.value = { at: 'done', notice: result.value };
    return undefined;
  });

function Done({ notice }: { notice: DisownedNotice }) {
  return (
    <>
      <Heading key="done" takesFocus>
        Taken care of
      </Heading>
      <p>{doneWords(notice.kind, notice.email !== null)}</p>
      {notice.email === null ? null : (
        <p>
          The address of your account is{' '}
          <strong>
            <bdi id="restored-email">{notice.email}</bdi>
          </strong>{' '}
          again.
        </p>
      )}
      <h2>What to do next</h2>
      <ol>
        <li>
          Change the password of your mailbox, if you use it anywhere else or are not sure of it: whoever
          reads your mail can sign in as you.
        </li>
        <li>
          Look at <a href={home}>your account</a>: remove passkeys and sign out logins that you do not know.
          When in doubt, sign out everywhere.
        </li>
        <li>Never approve a code, or type one, that somebody else sent you.</li>
      </ol>
    </>
  );
}

function NotMePage() {
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
        <p>You can close this page. The link in the mail stays good, should you think again.</p>
      </>
    );
  }
  if (now.at === 'done') return <Done notice={now.notice} />;
  return (
    <>
      <Heading key="question">Was this not you?</Heading>
      <p>
        Then say so. That ends the login that the mail told you of, and takes back what that login added:
        passkeys, approved devices, a changed address. Your other logins stay, unless an address has to be put
        back: then all of them end.
      </p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={disown}>
        <ActButtons
          harmless="It was me"
          onHarmless={() => {
            step.value = { at: 'kept' };
          }}
          act="This was not me"
          isBusy={busy.now.value}
        />
      </Form>
    </>
  );
}

// A second link opened in the same tab changes nothing but the fragment.
window.addEventListener('hashchange', () => location.reload());

mount(NotMePage);
