import { passkeysSupported } from '@latchkey/client/passkeys/ceremony';
import { formatCode, normalizeCode } from '@latchkey/contract/codes';
import type { PendingDevice } from '@latchkey/contract/device';
import { limits } from '@latchkey/contract/limits';
import { signal } from '@preact/signals';
import { decideDevice, getProfile, listNewestSessions, type Problem, verifyDevice } from '../api.ts';
import { ConfirmDialog, withRecentLogin } from '../confirm/confirm.tsx';
import { loginPath } from '../next.ts';
import { cameByMail } from '../passkeys/after-mail.ts';
import { showUser } from '../shown-user.ts';
import { busyState } from '../ui/busy.ts';
import { Claimed } from '../ui/claimed.tsx';
import { CodeField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { Moment } from '../ui/moment.tsx';
import { mount } from '../ui/mount.tsx';
import { clock, explain } from '../words.ts';
import { waitForPickUp } from './pick-up.ts';

type Step =
  | { at: 'loading' }
  | { at: 'unavailable' }
  | { at: 'code' }
  | { at: 'review'; device: PendingDevice; until: Date }
  | { at: 'waiting' }
  | { at: 'pickedUp' }
  | { at: 'notPickedUp' }
  | { at: 'denied' };

const step = signal<Step>({ at: 'loading' });
const account = signal('');
const code = signal('');
const error = signal('');
const busy = busyState();
/** An approval was sent and no answer came: it may have taken effect. */
let approvalInDoubt = false;

const codeWords = {
  invalid_request: 'That is not a code. It is eight letters, like BCDF-GHJK.',
  invalid_grant:
    'No login is waiting with this code. Check it against your terminal. If it is the same, its time is over or it has been used: start the login again in the terminal.',
};

/** This page, with the code, as the place to come back to. */
const here = () => {
  const typed = normalizeCode(code.value);
  return typed === undefined ? '/device' : `/device?${new URLSearchParams({ user_code: formatCode(typed) })}`;
};

/** Goes to the login page when that is what the problem asks for. */
function leftToSignIn({ code: problem }: Problem): boolean {
  if (problem !== 'invalid_token') return false;
  location.assign(loginPath(here()));
  return true;
}

/** Looks the code up, which changes nothing. What was typed stays in the field when it fails. */
async function lookUp(): Promise<'leaving' | undefined> {
  error.value = '';
  const typed = normalizeCode(code.value);
  if (typed === undefined) {
    error.value = code.value.trim() === '' ? 'Type the code first.' : codeWords.invalid_request;
    step.value = { at: 'code' };
    return undefined;
  }
  const result = await verifyDevice(formatCode(typed));
  if (!result.ok) {
    if (leftToSignIn(result.problem)) return 'leaving';
    error.value = explain(result.problem, codeWords);
    step.value = { at: 'code' };
    return undefined;
  }
  const device = result.value;
  const until = new Date(Date.now() + device.expires_in * 1000);
  const review: Step = { at: 'review', device, until };
  step.value = review;
  setTimeout(() => {
    if (step.value === review && !busy.now.value)
      backToCode('The time of this code is over. Start the login again in the terminal.');
  }, device.expires_in * 1000);
  return undefined;
}

function backToCode(message: string): void {
  error.value = message;
  step.value = { at: 'code' };
}

const decide = (decision: 'approve' | 'deny', device: PendingDevice) =>
  busy.run(async () => {
    error.value = '';
    // Known before the approval, so that the login it leads to can be told from the others.
    const before = decision === 'approve' ? await listNewestSessions() : undefined;
    const result =
      before?.ok === false ? before : await withRecentLogin(() => decideDevice(decision, device.user_code));
    if (!result.ok) {
      const { problem } = result;
      if (leftToSignIn(problem)) return 'leaving';
      if (problem.code === 'invalid_grant') {
        backToCode(
          approvalInDoubt
            ? 'This code is no longer waiting. Look at your terminal: it may be signed in already.'
            : codeWords.invalid_grant,
        );
      } else {
        approvalInDoubt ||= decision === 'approve' && before?.ok === true && problem.code === 'unreachable';
        error.value = explain(problem, {
          ...codeWords,
          unreachable: 'Latchkey could not be reached. Check your connection and try again.',
        });
      }
      return undefined;
    }
    if (decision === 'deny') {
      step.value = { at: 'denied' };
      return undefined;
    }
    step.value = { at: 'waiting' };
    const known = new Set(before?.ok === true ? before.value.sessions.map(({ id }) => id) : []);
    void waitForPickUp(known).then((pickedUp) => {
      step.value = { at: pickedUp ? 'pickedUp' : 'notPickedUp' };
    });
    return undefined;
  });

async function start(): Promise<void> {
  code.value = (new URLSearchParams(location.search).get('user_code') ?? '').slice(0, limits.userCode);
  error.value = '';
  step.value = { at: 'loading' };
  const me = await getProfile();
  if (!me.ok) {
    if (me.problem.code === 'invalid_token') location.replace(loginPath(here()));
    else {
      error.value = explain(me.problem, {
        unreachable: 'Latchkey could not be reached. Check your connection and try again.',
      });
      step.value = { at: 'unavailable' };
    }
    return;
  }
  account.value = me.value.email;
  showUser(me.value);
  if (code.value === '') step.value = { at: 'code' };
  else await lookUp();
}

const SignedInAs = () => (
  <p class="quiet">
    Signed in as <bdi>{account.value}</bdi>. <a href={loginPath(here())}>Use another account</a>
  </p>
);

function CodeStep() {
  return (
    <>
      <Heading key="code">Sign in a terminal</Heading>
      <p>Type the code that your terminal shows. You then see who asks, and decide.</p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => busy.run(lookUp)}>
        <CodeField
          id="user_code"
          label="Code from your terminal"
          value={code}
          error={error.value}
          takesFocus
          autoComplete="off"
          maxLength={limits.userCode}
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? 'One moment…' : 'Continue'}
        </button>
      </Form>
      <SignedInAs />
      <ConfirmDialog />
    </>
  );
}

function ReviewStep({ device, until }: { device: PendingDevice; until: Date }) {
  return (
    <>
      <Heading key="review" takesFocus>
        Let this terminal sign in as you?
      </Heading>
      <p>Compare this code with the one in your terminal:</p>
      <p>
        <output id="shown-code" class="big-code">
          {device.user_code}
        </output>
      </p>
      <p class="warning">
        <strong>Only approve if you started this login yourself, just now.</strong> Whoever sent you a code or
        a link to this page would be signed in as you. If the codes differ, deny.
      </p>
      <dl id="requester">
        <dt>Network</dt>
        <dd id="network">
          {device.same_network ? (
            'The same network as yours'
          ) : (
            <strong class="caution">
              A different network from yours. Is your terminal on another machine?
            </strong>
          )}
        </dd>
        <dt>Address</dt>
        <dd id="ip-address">{device.ip_address ?? <span class="missing">unknown</span>}</dd>
        <dt>Asked</dt>
        <dd id="requested-at">
          <Moment at={device.requested_at} />
        </dd>
        <dt>Good until</dt>
        <dd id="expires">
          <time dateTime={until.toISOString()}>{clock(until)}</time>
        </dd>
        <dt>Program</dt>
        <dd id="client-name">
          <Claimed text={device.client_name} />
        </dd>
        <dt>Device</dt>
        <dd id="device-name">
          <Claimed text={device.device_name} />
        </dd>
        <dt>User agent</dt>
        <dd id="user-agent">
          <Claimed text={device.user_agent} />
        </dd>
      </dl>
      <p class="hint">Text in quotes is what the program says of itself. Nobody has checked it.</p>
      <ErrorMessage text={error.value} />
      <div class="choice">
        <button
          type="button"
          id="approve"
          disabled={busy.now.value}
          onClick={() => void decide('approve', device)}
        >
          Approve
        </button>
        <button type="button" id="deny" disabled={busy.now.value} onClick={() => void decide('deny', device)}>
          Deny
        </button>
      </div>
      <SignedInAs />
      <ConfirmDialog />
    </>
  );
}

function DevicePage() {
  const now = step.value;
  switch (now.at) {
    case 'loading':
      return <StatusMessage>One moment…</StatusMessage>;
    case 'unavailable':
      return (
        <>
          <Heading key="unavailable">Sign in a terminal</Heading>
          <ErrorMessage text={error.value} />
          <button type="button" class="primary" onClick={() => void start()}>
            Try again
          </button>
        </>
      );
    case 'code':
      return <CodeStep />;
    case 'review':
      return <ReviewStep device={now.device} until={now.until} />;
    case 'waiting':
    case 'pickedUp':
    case 'notPickedUp':
      return <Approved outcome={now.at} />;
    case 'denied':
      return (
        <>
          <Heading key="denied" takesFocus>
            Denied
          </Heading>
          <StatusMessage>Denied. Nothing was signed in.</StatusMessage>
          <p class="quiet">
            You can close this window. If you did not start this login, there is nothing else to do.
          </p>
        </>
      );
  }
}

const outcomes = {
  waiting: 'Waiting for your terminal to pick this up…',
  pickedUp: 'Done. You can close this window and go back to your terminal.',
  notPickedUp:
    'Your terminal has not picked this up, or this page could not see it. Look at the terminal; if it is not signed in, start the login again there.',
};

function Approved({ outcome }: { outcome: keyof typeof outcomes }) {
  return (
    <>
      <Heading key="approved" takesFocus>
        Approved
      </Heading>
      <StatusMessage>{outcomes[outcome]}</StatusMessage>
      <p>
        <a href="/account">See all your logins</a>
      </p>
      {cameByMail() && passkeysSupported ? (
        <p class="quiet">
          Next time without a mail: <a href="/account">add a passkey</a>.
        </p>
      ) : null}
    </>
  );
}

mount(DevicePage);
void start();
