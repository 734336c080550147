import type { Answer } from '@latchkey/client/operations';
import { computed, signal } from '@preact/signals';
import { getSignedInUser, previewEmailChange, type Result, verifyEmailChange } from '../api.ts';
import { tokenFromLink } from '../email-link.ts';
import { type ErrorMessages, emailErrors, unreachable } from '../error-messages.ts';
import { home } from '../next.ts';
import { setPageUser } from '../page-user.ts';
import { productName } from '../product.ts';
import { mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { EmailField } from '../ui/field.tsx';
import { Heading } from '../ui/heading.tsx';

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
  const change = await previewEmailChange(token);
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

const Address = ({ children }: { children: string }) => (
  <strong>
    <bdi>{children}</bdi>
  </strong>
);

const Question = () => {
  const now = visitor.value;
  return now.is === 'owner' ? (
    <>
      The email of your {productName} account will change from <Address>{now.change.email}</Address> to{' '}
      <Address>{now.change.new_email}</Address>. You'll use the new one to sign in.
    </>
  ) : (
    <>
      Only continue if you requested this change. To confirm that it's your account, enter its current email
      address, or open this link in a browser where you're signed in.
    </>
  );
};

const CurrentEmailField = ({ error }: { error: string }) =>
  visitor.value.is === 'owner' ? null : (
    <EmailField
      id="current-email"
      label="Current email address"
      value={currentEmail}
      error={error}
      autoComplete="email"
    />
  );

const Done = ({ value: email }: { value: string }) => (
  <>
    <Heading key="done" takesFocus>
      Email changed
    </Heading>
    <p>
      From now on, sign-in emails go to{' '}
      <strong>
        <bdi id="new-email">{email}</bdi>
      </strong>
      . We notified your previous address. The change can be undone from there for 7 days.
    </p>
    <p>
      <a class="button" href={home}>
        Continue
      </a>
    </p>
  </>
);

const errorMessages: ErrorMessages = {
  conflict: `Another ${productName} account uses this email, so nothing was changed.`,
  unreachable,
  rate_limited: 'Too many attempts from your network.',
};
const ownerErrors: ErrorMessages = {
  ...errorMessages,
  invalid_grant:
    "This link no longer works. It has been used, has expired, or was replaced by a newer one, or you've been signed out. Your account page shows your current email.",
};
const anyoneErrors: ErrorMessages = {
  ...errorMessages,
  invalid_request: emailErrors.invalid_request,
  invalid_grant:
    "That didn't work. Check that you entered the account's current email. If you did, the link has been used, has expired, or was replaced by a newer one, or the session that requested it has ended. A link stops working after 5 wrong attempts.",
};

mountEmailLinkPage({
  prefix,
  heading: 'Confirm your new email',
  text: <Question />,
  fields: (error) => <CurrentEmailField error={error} />,
  isReady,
  decline: "Don't change",
  declinedText:
    "You can close this page. If you didn't request this change, there's nothing else to do. If you change your mind, the link in the email works until it expires.",
  confirm: 'Change email',
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
