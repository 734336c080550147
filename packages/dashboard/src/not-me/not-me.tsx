import type { DisownedNotice } from '@latchkey/contract/notices';
import { disownNotice } from '../api.ts';
import { home } from '../next.ts';
import { Heading } from '../ui/heading.tsx';
import { mountMailQuestion } from '../ui/mail-question.tsx';
import { doneWords, failureWords, isDisownedNotice } from './words.ts';

const Done = ({ value: { kind, email } }: { value: DisownedNotice }) => (
  <>
    <Heading key="done" takesFocus>
      Taken care of
    </Heading>
    <p>{doneWords(kind, email !== null)}</p>
    {email === null ? null : (
      <p>
        The address of your account is{' '}
        <strong>
          <bdi id="restored-email">{email}</bdi>
        </strong>{' '}
        again.
      </p>
    )}
    <h2>What to do next</h2>
    <ol>
      <li>
        Change the password of your mailbox, if you use it anywhere else or are not sure of it: whoever reads
        your mail can sign in as you.
      </li>
      <li>
        Look at <a href={home}>your account</a>: remove passkeys and sign out logins that you do not know.
        When in doubt, sign out everywhere.
      </li>
      <li>Never approve a code, or type one, that somebody else sent you.</li>
    </ol>
  </>
);

mountMailQuestion({
  prefix: 'lk_nm_',
  heading: 'Was this not you?',
  text: 'Then say so. That ends the login that the mail told you of, and takes back what that login added: passkeys, approved devices, a changed address. Your other logins stay, unless an address has to be put back: then all of them end.',
  harmless: 'It was me',
  keptText: 'You can close this page. The link in the mail stays good for its time, should you think again.',
  act: 'This was not me',
  carryOut: disownNotice,
  isValue: isDisownedNotice,
  failureWords: () => failureWords,
  Done,
});
