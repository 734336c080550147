import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { deleteAccount } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';

const isAsking = signal(false);
const error = signal('');
const busy = busyState();

const words = {
  conflict:
    'You are the only owner of an organization. Ask for somebody else to be made an owner of it first, then delete your account.',
};

const remove = () =>
  busy.run(async () => {
    error.value = '';
    const result = await runAction(deleteAccount);
    if (result.ok) {
      noteSignOut('deleted');
      location.replace('/login');
      return 'leaving';
    }
    error.value = explain(result.problem, words);
    return undefined;
  });

function Question() {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <>
      <p ref={question} tabIndex={-1} class="warning">
        Delete your account, with its logins, passkeys and security log? It cannot be brought back. Your mail
        address can sign up again, as a new account.
      </p>
      <div class="row">
        <button type="button" disabled={busy.now.value} onClick={() => void remove()}>
          {busy.now.value ? 'One moment…' : 'Yes, delete it for good'}
        </button>
        <button
          type="button"
          disabled={busy.now.value}
          onClick={() => {
            isAsking.value = false;
            error.value = '';
            requestAnimationFrame(() => document.getElementById('delete-account')?.focus());
          }}
        >
          Keep it
        </button>
      </div>
    </>
  );
}

/** Deleting the account, after a question. */
export function DeleteAccount() {
  return (
    <section aria-labelledby="delete-heading">
      <h2 id="delete-heading">Delete your account</h2>
      <ErrorMessage id="delete-error" text={error.value} />
      {isAsking.value ? (
        <Question />
      ) : (
        <button
          type="button"
          id="delete-account"
          class="plain"
          onClick={() => {
            isAsking.value = true;
          }}
        >
          Delete my account
        </button>
      )}
    </section>
  );
}
