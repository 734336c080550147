import { type Result, verifyEmailChange } from '../api.ts';
import { home } from '../next.ts';
import { Heading } from '../ui/heading.tsx';
import { mountMailQuestion } from '../ui/mail-question.tsx';

/** The address that the account has now. */
async function changeAddress(token: string): Promise<Result<string>> {
  const result = await verifyEmailChange(token);
  return result.ok ? { ok: true, value: result.value.email } : result;
}

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

mountMailQuestion({
  prefix: 'lk_ec_',
  heading: 'Use this address for Latchkey?',
  text: 'Only go on if you asked for this yourself. The Latchkey account that asked will then have the address that this link was sent to.',
  harmless: 'No, leave it',
  keptText:
    'You can close this page. If you did not ask for this, there is nothing else to do. The link in the mail stays good for its time, should you think again.',
  act: 'Yes, use this address',
  carryOut: changeAddress,
  isValue: (kept) => typeof kept === 'string',
  failureWords: {
    invalid_grant:
      'This link did not work. If it has been used, your address is changed already: sign in with the new one. Else its time is over, a newer link has taken its place, or the login that asked for it has ended: sign in and ask for a new one.',
    conflict: 'Another Latchkey account has this address, so nothing was changed.',
    unreachable: 'Latchkey could not be reached. Check your connection and try again.',
  },
  Done,
});
