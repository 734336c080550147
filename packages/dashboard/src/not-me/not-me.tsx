import type { DisownedNotice, NoticeKind, NoticePreview } from '@latchkey/contract/notices';
import { signal } from '@preact/signals';
import { call } from '../api.ts';
import { type ErrorMessages, explain } from '../error-messages.ts';
import { browserText, partsOfList } from '../format.ts';
import { home } from '../next.ts';
import { counted, fillParts, sentences, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading, StatusMessage } from '../ui/elements.tsx';
import { type DoneProps, mountEmailLinkPage } from '../ui/email-link-page.tsx';
import { Address, Details, Fact, Timestamp, Untrusted, UntrustedHint } from '../ui/facts.tsx';
import { Form } from '../ui/form.tsx';

const { notMe } = texts;

const status = signal('');
const busy = busyState();
const { error } = busy;
/** What the notice is about, as far as it is known. */
const preview = signal<NoticePreview | undefined>(undefined);

/** A number of things, followed by their names. */
const Named = ({ text, names }: { text: string; names: readonly string[] }) => (
  <li>
    {names.length === 0
      ? text
      : fillParts(notMe.named, {
          what: text,
          names: partsOfList(names).map(({ type, value }) =>
            type === 'element' ? <Untrusted text={value} /> : value,
          ),
        })}
  </li>
);

function Undone({ value }: { value: DisownedNotice }) {
  const { email, sessions_ended, devices_ended, device_names, passkeys_removed, keys_removed } = value;
  const { runs_ended, links_voided } = value;
  const undone = [
    { forms: notMe.browsers, count: sessions_ended, names: [] },
    { forms: notMe.devices, count: devices_ended, names: device_names },
    { forms: notMe.passkeys, count: passkeys_removed.length, names: passkeys_removed },
    { forms: notMe.keys, count: keys_removed.length, names: keys_removed },
    { forms: notMe.runs, count: runs_ended, names: [] },
    { forms: notMe.links, count: links_voided, names: [] },
  ].filter(({ count }) => count > 0);
  return (
    <>
      <h2>{notMe.undone}</h2>
      {email === null && undone.length === 0 ? (
        <p id="undone">{notMe.nothingUndone}</p>
      ) : (
        <ul id="undone">
          {email === null ? null : (
            <li>{fillParts(notMe.restored, { email: <Address id="restored-email">{email}</Address> })}</li>
          )}
          {undone.map(({ forms, count, names }) => (
            <Named key={forms.other} text={counted(forms, count)} names={names} />
          ))}
        </ul>
      )}
      {undone.some(({ names }) => names.length > 0) ? <UntrustedHint /> : null}
    </>
  );
}

/** A user agent: for browsers a short name that expands to the full string, otherwise the string itself. */
function UserAgent({ text }: { text: string }) {
  const name = browserText(text);
  const whole = (
    <p class={name === undefined ? 'quiet' : ''}>
      <Untrusted text={text} />
    </p>
  );
  return name === undefined ? whole : <Details summary={<Untrusted text={name} />}>{whole}</Details>;
}

/** Offers to undo everything since the session that approved the device, in case the user didn't approve it either. */
function Approver({ value: { approver }, token, onChange }: DoneProps<DisownedNotice>) {
  if (approver === null || approver.disowned) return null;
  const endSession = (spent: string) =>
    busy.run(async () => {
      const result = await call('disownNotice', { body: { token: spent, approver: true } });
      if (!result.ok) return explain(result.problem, errorMessages);
      status.value = notMe.approverEnded;
      onChange(result.value);
      document.querySelector('h1')?.focus();
      return undefined;
    });
  return (
    <section id="approver" aria-labelledby="approver-heading">
      <h2 id="approver-heading">{notMe.approver}</h2>
      <p>{notMe.approverText}</p>
      <dl>
        <Fact label={notMe.signedIn}>
          <Timestamp at={approver.created_at} />
        </Fact>
        <Fact label={texts.common.ipAddress}>{approver.ip_address ?? texts.common.unknown}</Fact>
        {approver.user_agent === null ? null : (
          <Fact label={texts.common.browser}>
            <UserAgent text={approver.user_agent} />
          </Fact>
        )}
      </dl>
      {token === undefined ? (
        <p>{notMe.approverReopen}</p>
      ) : (
        <>
          <p>{notMe.approverQuestion}</p>
          <ErrorMessage text={error.value} />
          <Form onSubmit={() => endSession(token)}>
            <Button id="end-approver" busy={busy}>
              {busy.label(notMe.endApprover)}
            </Button>
          </Form>
        </>
      )}
    </section>
  );
}

const Done = (props: DoneProps<DisownedNotice>) => (
  <>
    <Heading key="done" takesFocus>
      {notMe.done}
    </Heading>
    <p>{doneText(props.value)}</p>
    <StatusMessage text={status.value} />
    <Undone value={props.value} />
    <Approver {...props} />
    <h2>{notMe.next}</h2>
    <ol>
      <li>{notMe.changePassword}</li>
      <li>{fillParts(notMe.review, { account: <a href={home}>{notMe.yourAccount}</a> })}</li>
      <li>{notMe.neverApprove}</li>
    </ol>
  </>
);

/** The event as the subject of its email says it, when it was and from where. */
function About() {
  const shown = preview.value;
  if (shown === undefined) return null;
  return (
    <div id="about" class="way">
      <strong>{shown.subject}</strong>
      <p class="quiet">
        <Timestamp at={shown.created_at} /> · {shown.ip_address ?? texts.common.unknown}
      </p>
    </div>
  );
}

const Consequences = () => (
  <>
    <p>{notMe.text}</p>
    <ul>
      {Object.values(notMe.undoing).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
    <p>{notMe.older}</p>
  </>
);

const errorMessages: ErrorMessages = {
  invalid_grant: texts.notMe.refused,
  conflict: texts.notMe.conflict,
};

const { ended, othersEnded } = texts.notMe;

/** What reporting "This wasn't me" did. */
const endings: Readonly<Record<NoticeKind, readonly string[]>> = {
  new_device: [ended.new_device],
  new_app: [ended.new_app],
  new_browser: [ended.session],
  passkey_added: [ended.session],
  passkey_removed: [ended.session, ended.passkey_removed],
  key_added: [ended.session],
  key_removed: [ended.session, ended.key_removed],
  email_changed: [ended.session],
  theft_stopped: [ended.theft_stopped],
  refresh_repeated_elsewhere: [ended.session],
  sign_in_link_issued: [ended.sign_in_link_issued],
};

const doneText = ({ kind, email }: DisownedNotice): string =>
  sentences(...endings[kind], ...(email === null ? [] : [othersEnded]));

// Last: after a reload it shows at once what was undone.
mountEmailLinkPage({
  prefix: 'lk_nm_',
  heading: notMe.heading,
  prepare: async (token) => {
    const result = await call('previewNotice', { body: { token } });
    if (result.ok) preview.value = result.value;
  },
  about: <About />,
  text: <Consequences />,
  decline: notMe.decline,
  confirm: notMe.confirm,
  confirmClass: 'danger',
  onConfirm: (token) => call('disownNotice', { body: { token } }),
  errorMessages: () => errorMessages,
  Done,
});
