import { createApi } from '@latchkey/client/api';
import type { Answer } from '@latchkey/client/operations';
import { signal } from '@preact/signals';
import { api, call, getSignedInUser, type Result, resultOf } from '../api.ts';
import { type ErrorMessages, emailErrors } from '../error-messages.ts';
import { inUnits } from '../format.ts';
import { home } from '../next.ts';
import { setPageUser } from '../page-user.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { typedAddress } from '../typed-address.ts';
import { ErrorMessage } from '../ui/elements.tsx';
import { mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { Address } from '../ui/facts.tsx';
import { EmailField } from '../ui/form.tsx';
import { approvedIcon } from '../ui/icons.ts';
import { Outcome } from '../ui/page.tsx';

/**
 * The change, if the account's owner, signed in here, opened the link: they see both addresses and confirm with one
 * click. Anyone else sees neither and must type the current address, which a stranger who received the link doesn't know.
 */
const change = signal<Answer<'previewEmailChange'> | undefined>(undefined);
const currentEmail = signal('');

async function identifyVisitor(token: string): Promise<void> {
  const me = await getSignedInUser();
  if (!me.ok) return;
  const preview = await call('previewEmailChange', { body: { token } });
  if (!preview.ok) return;
  setPageUser(me.value);
  change.value = preview.value;
}

/** Sends no cookie, so that it does not matter who is signed in here. */
const apiWithoutCookie = createApi({ server: location.origin, credentials: 'omit' });

/** Changes the email with the link's token, once. Requires a session of the account or its current email. */
const verifyEmailChange = (token: string, currentEmail?: string) =>
  resultOf(
    currentEmail === undefined
      ? api.call('verifyEmailChange', { body: { token } })
      : apiWithoutCookie.call('verifyEmailChange', { body: { token, current_email: currentEmail } }),
  );

async function changeEmail(token: string): Promise<Result<string>> {
  const entered = change.value === undefined ? typedAddress(currentEmail.value) : undefined;
  if (entered === '') return { ok: false, problem: { code: 'invalid_request' } };
  const result = await verifyEmailChange(token, entered);
  return result.ok ? { ok: true, value: result.value.email } : result;
}

const Question = () =>
  change.value === undefined
    ? texts.verifyEmail.anyoneText
    : fillParts(texts.verifyEmail.ownerText, {
        old: <Address>{change.value.email}</Address>,
        new: <Address>{change.value.new_email}</Address>,
      });

const CurrentEmailField = ({ error }: { error: string }) =>
  change.value === undefined ? (
    <EmailField
      id="current-email"
      label={texts.verifyEmail.currentEmail}
      value={currentEmail}
      error={error}
      autoComplete="email"
    />
  ) : (
    <ErrorMessage text={error} />
  );

/** How long the previous address can undo the change. */
const undoDays = 7;

const Done = ({ value: email }: { value: string }) => (
  <Outcome tone="success" icon={approvedIcon} heading={texts.verifyEmail.done} takesFocus>
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

const errorMessages = (): ErrorMessages => ({
  conflict: fill(texts.verifyEmail.conflict),
  ...(change.value === undefined
    ? {
        invalid_request:
          typedAddress(currentEmail.value) === ''
            ? texts.common.enterEmailAddress
            : emailErrors.invalid_request,
        invalid_grant: texts.verifyEmail.anyoneRefused,
      }
    : { invalid_grant: texts.verifyEmail.ownerRefused }),
});

mountEmailLinkPage({
  prefix: 'lk_ec_',
  heading: texts.verifyEmail.heading,
  prepare: identifyVisitor,
  text: (
    <p>
      <Question />
    </p>
  ),
  fields: (error) => <CurrentEmailField error={error} />,
  decline: texts.verifyEmail.decline,
  confirm: texts.verifyEmail.confirm,
  confirmClass: 'primary',
  onConfirm: changeEmail,
  errorMessages,
  Done,
});
