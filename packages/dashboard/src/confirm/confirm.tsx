import type { Answer } from '@latchkey/client/operations';
import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { askForPasskey, redeemPasskey } from '@latchkey/client/passkeys/log-in';
import { signal } from '@preact/signals';
import { api, byCookie, call, getProfile, type Result, requestMagicLink, resultOf } from '../api.ts';
import { EmailCodeForm } from '../email-code-form.tsx';
import { emailErrors, explain, passkeySignInErrors } from '../error-messages.ts';
import { duration } from '../format.ts';
import { otherUserEmail, pageUser } from '../page-user.ts';
import { onLinkUsed, rememberSentEmail } from '../sign-in-emails.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState, leave } from '../ui/busy.ts';
import { Dialog, StayDialog } from '../ui/dialog.tsx';
import { Button, ErrorMessage } from '../ui/elements.tsx';
import { Address } from '../ui/facts.tsx';

/** The user who has to confirm their identity, and the passkeys they can use. */
interface Person {
  readonly id: string;
  readonly email: string;
  readonly credentialIds: readonly string[];
}

/** Its `request` is a secret of this page and is only kept in memory. */
type SentEmail = Answer<'requestMagicLink'>;

const pending = signal<{ person: Person; finish: (isConfirmed: boolean) => void } | undefined>(undefined);
const sent = signal<SentEmail | undefined>(undefined);
const busy = busyState<'passkey' | 'email' | 'code'>();
const { error } = busy;

/** Counts the confirmations on this page, each of which replaces its session with a new one. */
export const reauthentications = signal(0);

/**
 * Runs an action in the account that the page shows. If it requires a recent sign-in, asks the user to confirm their
 * identity in a dialog and runs it again. Cancelling returns the refusal and leaves the page as it is. The page must
 * render `ConfirmDialog`.
 */
export async function withRecentSignIn<T>(action: () => Promise<Result<T>>): Promise<Result<T>> {
  const result = await action();
  if (result.ok || result.problem.code !== 'insufficient_user_authentication') return result;
  const [me, passkeys] = await Promise.all([getProfile(), call('listPasskeys')]);
  if (!me.ok) return me;
  if (!passkeys.ok) return passkeys;
  const credentialIds = passkeys.value.passkeys.map(({ credential_id }) => credential_id);
  const isConfirmed = await confirm({ id: me.value.id, email: me.value.email, credentialIds });
  return isConfirmed ? action() : result;
}

async function confirm(person: Person): Promise<boolean> {
  sent.value = undefined;
  error.value = '';
  const isConfirmed = await new Promise<boolean>((finish) => {
    pending.value = { person, finish };
  });
  pending.value = undefined;
  if (isConfirmed) reauthentications.value++;
  return isConfirmed;
}

/** Accepts a sign-in as the same user. If another user signed in, reloads the page instead of acting as them. */
function accept(signIn: Answer<'loginWithPasskey'>, person: Person): undefined {
  if (!('user' in signIn) || signIn.user.id !== person.id) return leave(() => location.reload());
  pending.value?.finish(true);
  return undefined;
}

const usePasskey = (person: Person) =>
  busy.run(async () => {
    const assertion = await resultOf(askForPasskey(api));
    if (!assertion.ok) return explain(assertion.problem, passkeySignInErrors);
    if (!person.credentialIds.includes(assertion.value.response.id))
      return fill(texts.confirm.wrongPasskey, { email: person.email });
    const signIn = await resultOf(redeemPasskey(api, assertion.value, byCookie));
    if (signIn.ok) return accept(signIn.value, person);
    return explain(signIn.problem, passkeySignInErrors);
  }, 'passkey');

const sendEmail = ({ email }: Person) =>
  busy.run(async () => {
    const result = await requestMagicLink(email);
    if (!result.ok) return explain(result.problem, emailErrors);
    const next = location.pathname + location.search;
    const { expires_in, request } = result.value;
    rememberSentEmail({ email, until: Date.now() + expires_in * 1000, next, request });
    sent.value = result.value;
    return undefined;
  }, 'email');

onLinkUsed(() => {
  const now = pending.value;
  if (!now || !sent.value || busy.now.value) return;
  void getProfile().then((me) => {
    if (me.ok && me.value.id === now.person.id) now.finish(true);
  });
});

const OtherUserDialog = ({ email }: { email: string }) => (
  <StayDialog
    id="other-user"
    title={texts.confirm.otherUser}
    reason={otherUserEmail}
    action={
      <Button class="primary" onClick={() => location.reload()}>
        {texts.confirm.reload}
      </Button>
    }
  >
    {fillParts(texts.confirm.otherUserText, {
      email: <Address>{email}</Address>,
      shown: <bdi>{pageUser()?.email}</bdi>,
    })}
  </StayDialog>
);

function CodeForm({ person, email }: { person: Person; email: SentEmail }) {
  return (
    <>
      <p>
        {fillParts(texts.confirm.sent, {
          email: <Address>{person.email}</Address>,
          duration: duration(email.expires_in),
        })}
      </p>
      <EmailCodeForm
        id="confirm-code"
        label={texts.confirm.confirm}
        request={email.request}
        busy={busy}
        onSignedIn={(signIn) => accept(signIn, person)}
      />
    </>
  );
}

function Methods({ person, onCancel }: { person: Person; onCancel: () => void }) {
  const isSent = sent.value !== undefined;
  const offersPasskey = passkeysSupported && person.credentialIds.length > 0;
  return (
    <div class="row">
      {offersPasskey && !isSent ? (
        <Button class="primary" busy={busy} onClick={() => usePasskey(person)}>
          {busy.label(texts.confirm.usePasskey, 'passkey')}
        </Button>
      ) : null}
      <Button
        class={isSent ? 'plain' : offersPasskey ? '' : 'primary'}
        busy={busy}
        onClick={() => sendEmail(person)}
      >
        {busy.label(isSent ? texts.common.newEmail : texts.confirm.emailCode, 'email')}
      </Button>
      <Button class="plain" onClick={onCancel}>
        {texts.common.cancel}
      </Button>
    </div>
  );
}

/** Asks to confirm for `withRecentSignIn`, or says that another user is signed in now. */
export function ConfirmDialog() {
  if (otherUserEmail.value !== undefined) return <OtherUserDialog email={otherUserEmail.value} />;
  const now = pending.value;
  if (now === undefined) return null;
  const { person } = now;
  const cancel = () => now.finish(false);
  return (
    <Dialog id="confirm" title={texts.confirm.title} onClose={cancel}>
      <p>{fillParts(texts.confirm.text, { email: <Address>{person.email}</Address> })}</p>
      <ErrorMessage id="confirm-error" text={busy.errorOf('code') === '' ? error.value : ''} />
      {sent.value === undefined ? null : <CodeForm person={person} email={sent.value} />}
      <Methods person={person} onCancel={cancel} />
    </Dialog>
  );
}
