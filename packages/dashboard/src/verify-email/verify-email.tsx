import type { Answer } from '@latchkey/client/operations';
import { computed, signal } from '@preact/signals';
import { call, getSignedInUser, type Result, verifyEmailChange } from '../api.ts';
import { tokenFromLink } from '../email-link.ts';
import { type ErrorMessages, emailErrors } from '../error-messages.ts';
import { inUnits } from '../format.ts';
import { home } from '../next.ts';
import { setPageUser } from '../page-user.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { EmailField } from '../ui/field.tsx';
import { approvedIcon } from '../ui/icons.ts';
import { Outcome } from '../ui/outcome.tsx';
import { Address } from '../ui/untrusted.tsx';

/**
 * Who opened the link. The account's owner, signed in here, sees both addresses and confirms with one click. Anyone
 * else sees neither and must type the current address, which a stranger who received the link doesn't know.
 */
type Visitor = { is: 'unknown' } | { is: 'owner'; change: Answer<'previewEmailChange'> } | { is: 'anyone' };

const prefix = 'lk_ec_';
const visitor = signal<Visitor>({ is: 'unknown' });
const isReady = computed(() => visitor.value.is !== 'unknown');
const currentEmail = signal('');

async function identifyVisitor(token: string): Promise<Visitor> {
  const me = await getSignedInUser();
  if (!me.ok) return { is: 'anyone' };
  const change = await call('previewEmailChange', { body: { token } });
  if (!change.ok) return { is: 'anyone' };
  setPageUser(me.value);
  return { is: 'owner', change: change.value };
}

/** Changes the email and returns the new one. */
async function changeEmail(token: string): Promise<Result<string>> {
  const isOwner = visitor.value.is === 'owner';
  const entered = currentEmail.value.trim();
  if (!isOwner && entered === '') return { ok: false, problem: { code: 'invalid_request' } };
  const result = await (isOwner ? verifyEmailChange(token) : verifyEmailChange(token, entered));
  return result.ok ? { ok: true, value: result.value.email } : result;
}

const Question = () => {
  const now = visitor.value;
  return now.is === 'owner'
    ? fillParts(texts.verifyEmail.ownerText, {
        old: <Address>{now.change.email}</Address>,
        new: <Address>{now.change.new_email}</Address>,
      })
    : texts.verifyEmail.anyoneText;
};

const CurrentEmailField = ({ error }: { error: string }) =>
  visitor.value.is === 'owner' ? null : (
    <EmailField
      id="current-email"
      label={texts.verifyEmail.currentEmail}
      value={currentEmail}
      error={error}
      autoComplete="email"
    />
  );

/** How long the previous address can undo the change. */
const undoDays = 7;

const Done = ({ value: email }: { value: string }) => (
  <Outcome key="done" tone="success" icon={approvedIcon} heading={texts.verifyEmail.done} takesFocus>
    <p>
      {fillParts(texts.verifyEmail.doneText, {
        email: <Address id="new-email">{email}</Address>,
        duration: inUnits(undoDays, 'day'),
      })}
    </p>
    <a class="button wide-button" href={home}>
      {texts.common.continue}
    </a>
  </Outcome>
);

const errorMessages: ErrorMessages = {
  conflict: fill(texts.verifyEmail.conflict),
};
const ownerErrors: ErrorMessages = {
  ...errorMessages,
  invalid_grant: texts.verifyEmail.ownerRefused,
};
const anyoneErrors: ErrorMessages = {
  ...errorMessages,
  invalid_request: emailErrors.invalid_request,
  invalid_grant: texts.verifyEmail.anyoneRefused,
};

mountEmailLinkPage({
  prefix,
  heading: texts.verifyEmail.heading,
  text: <Question />,
  fields: (error) => <CurrentEmailField error={error} />,
  isReady,
  decline: texts.verifyEmail.decline,
  confirm: texts.verifyEmail.confirm,
  onConfirm: changeEmail,
  isValue: (value) => typeof value === 'string',
  errorMessages: () => (visitor.value.is === 'owner' ? ownerErrors : anyoneErrors),
  Done,
});

const token = tokenFromLink(prefix);
if (token !== undefined) {
  identifyVisitor(token).then(
    (found) => {
      visitor.value = found;
    },
    () => {
      visitor.value = { is: 'anyone' };
    },
  );
}
