import { formatCode, normalizeCode } from '@latchkey/contract/codes';
import type { PendingDevice } from '@latchkey/contract/device';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { signal } from '@preact/signals';
import { decideDevice, getProfile, type Problem, revokeSession, verifyDevice } from '../api.ts';
import { ConfirmDialog, withRecentSignIn } from '../confirm/confirm.tsx';
import { clock, explain } from '../error-messages.ts';
import { loginPath, switchAccountPath } from '../next.ts';
import { setPageUser } from '../page-user.ts';
import { busyState } from '../ui/busy.ts';
import { CodeField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { ErrorMessage, StatusMessage } from '../ui/messages.tsx';
import { mount } from '../ui/mount.tsx';
import { Timestamp } from '../ui/timestamp.tsx';
import { Untrusted } from '../ui/untrusted.tsx';
import { type ApprovalStatus, watchApproval } from './approval-status.ts';
import { type Decision, recallDecision, saveDecision } from './decision.ts';
import { Approved, Denied } from './outcome.tsx';
import { type ReviewTimer, reviewTimer } from './review-timer.ts';

type Step =
  | { at: 'loading' }
  | { at: 'unavailable' }
  | { at: 'code'; isUnknownCode?: boolean }
  | Review
  | { at: 'approved'; status: ApprovalStatus; sessionId: string | null }
  | { at: 'denied' };

interface Review {
  readonly at: 'review';
  readonly device: PendingDevice;
  readonly until: Date;
  readonly looked: ReviewTimer;
}

const step = signal<Step>({ at: 'loading' });
const account = signal('');
let userId = '';
const code = signal('');
const error = signal('');
const busy = busyState();
/** An approval was sent and no answer came: it may have taken effect. */
let approvalInDoubt = false;

const codeErrors = {
  invalid_request: 'That is not a code. It is eight letters, like BCDF-GHJK.',
  invalid_grant:
    'No login is waiting with this code. If you have just approved or denied it, you are done here. Otherwise compare it with your terminal; if it is the same, start the login again there.',
};

/** This page, with the code, as the place to come back to. */
const here = () => {
  const typed = normalizeCode(code.value);
  return typed === undefined ? '/device' : `/device?${new URLSearchParams({ user_code: formatCode(typed) })}`;
};

/** Goes to the login page when that is what the problem asks for. */
function redirectedToSignIn({ code: problem }: Problem): boolean {
  if (problem !== 'invalid_token') return false;
  location.assign(loginPath(here()));
  return true;
}

/** Looks the code up, which changes nothing. What was typed stays in the field when it fails. */
async function lookUp(): Promise<'leaving' | undefined> {
  error.value = '';
  const typed = normalizeCode(code.value);
  if (typed === undefined) {
    error.value = code.value.trim() === '' ? 'Type the code first.' : codeErrors.invalid_request;
    step.value = { at: 'code' };
    return undefined;
  }
  const result = await verifyDevice(formatCode(typed));
  if (!result.ok) {
    if (redirectedToSignIn(result.problem)) return 'leaving';
    error.value = explain(result.problem, codeErrors);
    step.value = { at: 'code', isUnknownCode: result.problem.code === 'invalid_grant' };
    return undefined;
  }
  // A code that was typed is there again after a reload.
  history.replaceState(null, '', here());
  const device = result.value;
  const until = new Date(Date.now() + device.expires_in * 1000);
  const review: Review = { at: 'review', device, until, looked: reviewTimer() };
  step.value = review;
  setTimeout(() => {
    if (step.value === review && !busy.now.value)
      backToCode('The time of this code is over. Start the login again in the terminal.');
  }, device.expires_in * 1000);
  return undefined;
}

function backToCode(message: string): void {
  error.value = message;
  step.value = { at: 'code', isUnknownCode: true };
}

const decide = (decision: Decision['decision'], device: PendingDevice, until: Date) =>
  busy.run(async () => {
    error.value = '';
    const result = await withRecentSignIn(() => decideDevice(decision, device.user_code));
    if (!result.ok) {
      const { problem } = result;
      if (redirectedToSignIn(problem)) return 'leaving';
      if (problem.code === 'invalid_grant') {
        backToCode(
          approvalInDoubt
            ? 'This code is no longer waiting. Look at your terminal: it may be signed in already.'
            : codeErrors.invalid_grant,
        );
      } else {
        approvalInDoubt ||= decision === 'approve' && problem.code === 'unreachable';
        error.value = explain(problem, {
          ...codeErrors,
          unreachable: 'Latchkey could not be reached. Check your connection and try again.',
        });
      }
      return undefined;
    }
    const made: Decision =
      decision === 'deny'
        ? { decision, userId }
        : {
            decision,
            userId,
            // A node of an earlier release answers without it.
            sessionId: device.session_id ?? null,
            requestedAt: device.requested_at,
            until: until.getTime(),
          };
    saveDecision(made, here());
    goOnAfter(made);
    return undefined;
  });

/** Tells what was decided, and what becomes of it. */
function goOnAfter(made: Decision): void {
  if (made.decision === 'deny') {
    step.value = { at: 'denied' };
    return;
  }
  void watchApproval(made, (status) => {
    const now = step.value;
    if (now.at === 'approved' && now.status === 'takenBack') return;
    step.value = { at: 'approved', status, sessionId: made.sessionId };
  });
}

/** Keeps the approved login from beginning, or ends it where the terminal was faster. */
const takeBack = (sessionId: string | null) =>
  busy.run(async () => {
    if (sessionId === null) return undefined;
    error.value = '';
    const result = await revokeSession(sessionId);
    if (result.ok) step.value = { at: 'approved', status: 'takenBack', sessionId };
    // What is gone already is told by the log.
    else if (result.problem.code !== 'not_found') {
      if (redirectedToSignIn(result.problem)) return 'leaving';
      error.value = explain(result.problem);
    }
    return undefined;
  });

async function start(): Promise<void> {
  code.value = (new URLSearchParams(location.search).get('user_code') ?? '').slice(0, fieldLimits.userCode);
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
  userId = me.value.id;
  setPageUser(me.value);
  const made = recallDecision(userId);
  if (made !== undefined) goOnAfter(made);
  else if (code.value === '') step.value = { at: 'code' };
  else await lookUp();
}

const SignedInAs = () => (
  <p class="quiet">
    Signed in as <bdi>{account.value}</bdi>. <a href={switchAccountPath(here())}>Use another account</a>
  </p>
);

function CodeStep({ isUnknownCode = false }: { isUnknownCode?: boolean | undefined }) {
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
          maxLength={fieldLimits.userCode}
        />
        <button type="submit" class="primary" disabled={busy.now.value}>
          {busy.now.value ? 'One moment…' : 'Continue'}
        </button>
      </Form>
      {isUnknownCode ? (
        <p>
          <a href="/account">See all your logins</a>
        </p>
      ) : null}
      <SignedInAs />
      <ConfirmDialog />
    </>
  );
}

function ReviewStep({ review: { device, until, looked } }: { review: Review }) {
  /** The keyboard has to be brought to the button first, so it comes late enough. */
  const approve = ({ detail: clicks }: MouseEvent) => {
    if (looked.now.value || clicks === 0) void decide('approve', device, until);
    else looked.begin();
  };
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
        <dt>SentEmail</dt>
        <dd id="requested-at">
          <Timestamp at={device.requested_at} />
        </dd>
        <dt>Good until</dt>
        <dd id="expires">
          <time dateTime={until.toISOString()}>{clock(until)}</time>
        </dd>
        <dt>Program</dt>
        <dd id="client-name">
          <Untrusted text={device.client_name} />
        </dd>
        <dt>Device</dt>
        <dd id="device-name">
          <Untrusted text={device.device_name} />
        </dd>
        <dt>User agent</dt>
        <dd id="user-agent">
          <Untrusted text={device.user_agent} />
        </dd>
      </dl>
      <p class="hint">Text in quotes is what the program says of itself. Nobody has checked it.</p>
      <ErrorMessage text={error.value} />
      <div class="choice">
        <button
          type="button"
          id="approve"
          disabled={busy.now.value}
          aria-disabled={!looked.now.value}
          onClick={approve}
        >
          Approve
        </button>
        <button
          type="button"
          id="deny"
          disabled={busy.now.value}
          onClick={() => void decide('deny', device, until)}
        >
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
      return <CodeStep isUnknownCode={now.isUnknownCode} />;
    case 'review':
      return <ReviewStep review={now} />;
    case 'approved':
      return (
        <Approved
          status={now.status}
          error={error.value}
          isBusy={busy.now.value}
          onTakeBack={() => void takeBack(now.sessionId)}
        />
      );
    case 'denied':
      return <Denied />;
  }
}

mount(DevicePage);
void start();
