import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { deleteAccount } from '../api.ts';
import { explain } from '../error-messages.ts';
import { noteSignOut } from '../signed-out.ts';
import { busyState } from '../ui/busy.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { runAction } from './actions.tsx';

const isConfirming = signal(false);
const error = signal('');
const busy = busyState();

const messages = {
  conflict:
    "You're the only owner of an organization. Make someone else an owner first, then delete your account.",
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
    error.value = explain(result.problem, messages);
    return undefined;
  });

function Question() {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <>
      <p ref={question} tabIndex={-1} class="warning">
        Delete your account? Your profile, passkeys, sessions, and activity will be permanently deleted. This
        can't be undone. You can sign up again with the same email, as a new account.
      </p>
      <div class="row">
        <button type="button" disabled={busy.now.value} onClick={() => void remove()}>
          {busy.now.value ? 'One moment…' : 'Permanently delete account'}
        </button>
        <button
          type="button"
          disabled={busy.now.value}
          onClick={() => {
            isConfirming.value = false;
            error.value = '';
            requestAnimationFrame(() => document.getElementById('delete-account')?.focus());
          }}
        >
          Cancel
        </button>
      </div>
    </>
  );
}

/** Deletes the account after a confirmation. */
export function DeleteAccount() {
  return (
    <section aria-labelledby="delete-heading">
      <h2 id="delete-heading">Delete account</h2>
      <ErrorMessage id="delete-error" text={error.value} />
      {isConfirming.value ? (
        <Question />
      ) : (
        <>
          <p class="quiet">Permanently delete your account and all of its data.</p>
          <button
            type="button"
            id="delete-account"
            class="plain"
            onClick={() => {
              isConfirming.value = true;
            }}
          >
            Delete account
          </button>
        </>
      )}
    </section>
  );
}
