import type { Answer } from '@latchkey/client/operations';
import { computed, signal } from '@preact/signals';
import { getSignedInUser, previewEmailChange, type Result, verifyEmailChange } from '../api.ts';
import { tokenFromLink } from '../email-link.ts';
import type { ErrorMessages } from '../error-messages.ts';
import { home } from '../next.ts';
import { setPageUser } from '../page-user.ts';
import { mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { EmailField } from '../ui/field.tsx';
import { Heading } from '../ui/heading.tsx';

/**
 * Who has opened the link. Somebody who is signed in here to its account sees both addresses and needs one click.
 * Anybody else is told neither: the link may have gone to a stranger, who does not know the current address.
 */
type Visitor = { is: 'unknown' } | { is: 'owner'; change: Answer<'previewEmailChange'> } | { is: 'anybody' };

const prefix = 'lk_ec_';
const visitor = signal<Visitor>({ is: 'unknown' });
const isReady = computed(() => visitor.value.is !== 'unknown');
const currentEmail = signal('');

async function recognizeVisitor(token: string): Promise<Visitor> {
  const me = await getSignedInUser();
  if (!me.ok) return { is: 'anybody' };
  const change = await previewEmailChange(token);
  if (!change.ok) return { is: 'anybody' };
  setPageUser(me.value);
  return { is: 'owner', change: change.value };
}

/** The address that the account has now. */
async function changeAddress(token: string): Promise<Result<string>> {
  const isOwner = visitor.value.is === 'owner';
  const address = currentEmail.value.trim();
  if (!isOwner && address === '') return { ok: false, problem: { code: 'invalid_request' } };
  const result = await (isOwner ? verifyEmailChange(token) : verifyEmailChange(token, address));
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
      The address of your Latchkey account changes from <Address>{now.change.email}</Address> to{' '}
      <Address>{now.change.new_email}</Address>. From then on you sign in with the new one.
    </>
  ) : (
    <>
      Only go on if you asked for this yourself. To confirm that the account is yours, type its current mail
      address. Or open the link in a browser where you are signed in to the account.
    </>
  );
};

const CurrentAddressField = ({ error }: { error: string }) =>
  visitor.value.is === 'owner' ? null : (
    <EmailField
      id="current-email"
      label="Current mail address"
      value={currentEmail}
      error={error}
      autoComplete="email"
    />
  );

const Done = ({ value: email }: { value: string }) => (
  <>
    <Heading key="done" takesFocus>
      Your address is changed
    </Heading>
    <p>
      From now on sign-in mails go to{' '}
      <strong>
        <bdi id="new-email">{email}</bdi>
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

const errorMessages: ErrorMessages = {
  conflict: 'Another Latchkey account has this address, so nothing was changed.',
  unreachable: 'Latchkey could not be reached. Check your connection and try again.',
  rate_limited: 'Links were tried too often from your network.',
};
const ownerErrors: ErrorMessages = {
  ...errorMessages,
  invalid_grant:
    'This link no longer works: it has been used or has expired, a newer link has replaced it, or you have been signed out. Your account page shows your current address.',
};
const visitorErrors: ErrorMessages = {
  ...errorMessages,
  invalid_request: 'That does not look like a mail address. It should look like ada@example.com.',
  invalid_grant:
    'This did not work. Check the address: it must be the current one of the account. If it is, the link has been used, has expired or was replaced by a newer one, or the session that asked for it has ended. A link stops working after 5 wrong addresses.',
};

mountEmailLinkPage({
  prefix,
  heading: 'Use this address for Latchkey?',
  text: <Question />,
  fields: (error) => <CurrentAddressField error={error} />,
  isReady,
  harmless: 'No, leave it',
  keptText:
    'You can close this page. If you did not ask for this, there is nothing else to do. The link in the mail stays good for its time, should you think again.',
  act: 'Yes, use this address',
  carryOut: changeAddress,
  isValue: (kept) => typeof kept === 'string',
  errorMessages: () => (visitor.value.is === 'owner' ? ownerErrors : visitorErrors),
  Done,
});

const token = tokenFromLink(prefix);
if (token !== undefined) {
  recognizeVisitor(token).then(
    (found) => {
      visitor.value = found;
    },
    () => {
      visitor.value = { is: 'anybody' };
    },
  );
}
