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
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';
import { UserAgent } from '../ui/user-agent.tsx';
import {
  browsersText,
  devicesText,
  doneText,
  errorMessages,
  isDisownedNotice,
  keysText,
  passkeysText,
} from './messages.ts';

const error = signal('');
const status = signal('');
const busy = busyState();

/** A count, followed by the names. */
const Named = ({ text, names }: { text: string; names: readonly string[] }) => (
  <li>
    {text}
    {names.map((name, index) => (
      <>
        {index === 0 ? ': ' : ', '}
        <Untrusted text={name} />
      </>
    ))}
  </li>
);

function Undone({ value }: { value: DisownedNotice }) {
  const { email, sessions_ended, devices_ended, device_names, passkeys_removed, keys_removed } = value;
  const removed = passkeys_removed.length + keys_removed.length;
  const isEmpty = email === null && sessions_ended + devices_ended + removed === 0;
  return (
    <>
      <h2>What was undone</h2>
      {isEmpty ? (
        <p id="undone">Nothing was left to undo. The session had already ended and left nothing behind.</p>
      ) : (
        <ul id="undone">
          {email === null ? null : (
            <li>
              Your email is{' '}
              <strong>
                <bdi id="restored-email">{email}</bdi>
              </strong>{' '}
              again
            </li>
          )}
          {sessions_ended === 0 ? null : <li>{browsersText(sessions_ended)}</li>}
          {devices_ended === 0 ? null : <Named text={devicesText(devices_ended)} names={device_names} />}
          {passkeys_removed.length === 0 ? null : (
            <Named text={passkeysText(passkeys_removed.length)} names={passkeys_removed} />
          )}
          {keys_removed.length === 0 ? null : (
            <Named text={keysText(keys_removed.length)} names={keys_removed} />
          )}
        </ul>
      )}
      {device_names.length + removed === 0 ? null : <UntrustedHint />}
    </>
  );
}

/** Offers to end the browser session that approved the device, in case the user didn't approve it either. */
function Approver({ value: { approver }, token, onChange }: DoneProps<DisownedNotice>) {
  if (approver === null || approver.disowned) return null;
  const endSession = (spent: string) =>
    busy.run(async () => {
      error.value = '';
      const result = await disownApprover(spent);
      if (result.ok) {
        status.value =
          'The session that approved the device has ended too, and everything it added has been removed.';
        onChange(result.value);
        document.querySelector('h1')?.focus();
      } else error.value = explain(result.problem, errorMessages);
      return undefined;
    });
  return (
    <section id="approver" aria-labelledby="approver-heading">
      <h2 id="approver-heading">Who approved the device?</h2>
      <p>It was approved in a browser that was signed in to your account. That session is still active:</p>
      <dl>
        <dt>Signed in</dt>
        <dd>
          <Timestamp at={approver.created_at} />
        </dd>
        <dt>IP address</dt>
        <dd>{approver.ip_address ?? 'Unknown'}</dd>
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
        <p>If that wasn't you either, open the link in the email again to end this session too.</p>
      ) : (
        <>
          <p>If that wasn't you either, end this session and remove everything it added.</p>
          <ErrorMessage text={error.value} />
          <Form onSubmit={() => endSession(token)}>
            <button type="submit" id="end-approver" disabled={busy.now.value}>
              {busy.now.value ? 'One moment…' : 'End this session too'}
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
      Thanks for letting us know
    </Heading>
    <p>{doneText(props.value)}</p>
    <StatusMessage>{status.value}</StatusMessage>
    <Undone value={props.value} />
    <Approver {...props} />
    <h2>What to do next</h2>
    <ol>
      <li>
        Change the password of your email account if someone else might know it. Anyone who can read your
        email can sign in as you.
      </li>
      <li>
        Review <a href={home}>your account</a>. Remove passkeys and sign out sessions you don't recognize. If
        in doubt, sign out everywhere.
      </li>
      <li>Never approve or enter a code that someone else sent you.</li>
    </ol>
  </>
);

mountEmailLinkPage({
  prefix: 'lk_nm_',
  heading: 'Was this you?',
  text: "If it wasn't, we'll end the session that the email was about and undo everything it added: passkeys, keys, approved devices, an email change, and the sessions that came from them. Your other sessions stay active, unless your email has to be restored: then all of them end.",
  decline: 'This was me',
  declinedText:
    'You can close this page. If you change your mind, the link in the email works until it expires.',
  confirm: "This wasn't me",
  onConfirm: disownNotice,
  isValue: isDisownedNotice,
  errorMessages: () => errorMessages,
  Done,
});
