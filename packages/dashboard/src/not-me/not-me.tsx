import type { DisownedNotice } from '@latchkey/contract/notices';
import { signal } from '@preact/signals';
import { disownApprover, disownNotice } from '../api.ts';
import { explain } from '../error-messages.ts';
import { home } from '../next.ts';
import { busyState } from '../ui/busy.ts';
import { type DoneProps, mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted } from '../ui/untrusted.tsx';
import { UserAgent } from '../ui/user-agent.tsx';
import {
  browsersText,
  devicesText,
  doneText,
  errorMessages,
  isDisownedNotice,
  passkeysText,
} from './messages.ts';

const error = signal('');
const status = signal('');
const busy = busyState();

/** How many there were, and then each by its name. */
const Named = ({ words, names }: { words: string; names: readonly string[] }) => (
  <li>
    {words}
    {names.map((name, index) => (
      <>
        {index === 0 ? ': ' : ', '}
        <Untrusted text={name} />
      </>
    ))}
    {names.length === 0 ? '.' : null}
  </li>
);

function Undone({ value }: { value: DisownedNotice }) {
  const { email, sessions_ended, devices_ended, device_names, passkeys_removed } = value;
  const isNothing = email === null && sessions_ended + devices_ended + passkeys_removed.length === 0;
  return (
    <>
      <h2>What was undone</h2>
      {isNothing ? (
        <p id="undone">Nothing was left to undo: that login had ended before and left nothing behind.</p>
      ) : (
        <ul id="undone">
          {email === null ? null : (
            <li>
              The address of your account is{' '}
              <strong>
                <bdi id="restored-email">{email}</bdi>
              </strong>{' '}
              again.
            </li>
          )}
          {sessions_ended === 0 ? null : <li>{browsersText(sessions_ended)}</li>}
          {devices_ended === 0 ? null : <Named words={devicesText(devices_ended)} names={device_names} />}
          {passkeys_removed.length === 0 ? null : (
            <Named words={passkeysText(passkeys_removed.length)} names={passkeys_removed} />
          )}
        </ul>
      )}
      {device_names.length + passkeys_removed.length === 0 ? null : (
        <p class="hint">Text in quotes is what a program or person said. Nobody has checked it.</p>
      )}
    </>
  );
}

/** The browser login that approved the device: whoever did not sign in the device may not have approved it, either. */
function Approver({ value: { approver }, token, onChange }: DoneProps<DisownedNotice>) {
  if (approver === null || approver.disowned) return null;
  const endToo = (spent: string) =>
    busy.run(async () => {
      error.value = '';
      const result = await disownApprover(spent);
      if (result.ok) {
        status.value = 'The login that approved the device has ended, too, and everything it added is gone.';
        onChange(result.value);
        document.querySelector('h1')?.focus();
      } else error.value = explain(result.problem, errorMessages);
      return undefined;
    });
  return (
    <section id="approver" aria-labelledby="approver-heading">
      <h2 id="approver-heading">Who approved the device?</h2>
      <p>A browser that was signed in to your account approved it. That login is not ended yet:</p>
      <dl>
        <dt>Signed in</dt>
        <dd>
          <Timestamp at={approver.created_at} />
        </dd>
        <dt>IP address</dt>
        <dd>{approver.ip_address ?? 'an unknown address'}</dd>
        {approver.user_agent === null ? null : (
          <>
            <dt>Browser</dt>
            <dd>
              <UserAgent text={approver.user_agent} />
            </dd>
          </>
        )}
      </dl>
      {token === undefined ? (
        <p>If that was not you either, open the link in the mail again to end that login, too.</p>
      ) : (
        <>
          <p>If that was not you either, end that login, too, with everything it added.</p>
          <ErrorMessage text={error.value} />
          <Form onSubmit={() => endToo(token)}>
            <button type="submit" id="end-approver" disabled={busy.now.value}>
              {busy.now.value ? 'One moment…' : 'End that login, too'}
            </button>
          </Form>
        </>
      )}
    </section>
  );
}

const Done = (props: DoneProps<DisownedNotice>) => (
  <>
    <Heading key="done" takesFocus>
      Taken care of
    </Heading>
    <p>{doneText(props.value)}</p>
    <StatusMessage>{status.value}</StatusMessage>
    <Undone value={props.value} />
    <Approver {...props} />
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

mountEmailLinkPage({
  prefix: 'lk_nm_',
  heading: 'Was this not you?',
  text: 'Then say so. That ends the login that the mail told you of, and undoes everything it added: passkeys, approved devices, a changed address, and the logins that came of them. Your other logins stay, unless an address has to be put back: then all of them end.',
  harmless: 'It was me',
  keptText: 'You can close this page. The link in the mail stays good for its time, should you think again.',
  act: 'This was not me',
  carryOut: disownNotice,
  isValue: isDisownedNotice,
  errorMessages: () => errorMessages,
  Done,
});
