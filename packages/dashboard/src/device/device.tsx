import { formatCode, normalizeUserCode } from '@latchkey/contract/codes';
import type { DeviceConfirmation, PendingDevice } from '@latchkey/contract/device';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { signal } from '@preact/signals';
import { call, getProfile, listEventsSince, type Problem } from '../api.ts';
import { Denied, Review as ReviewView, SignedInAs } from '../approval/review.tsx';
import { touchErrors, withTouch } from '../approval/touch.ts';
import { ConfirmDialog, withRecentSignIn } from '../confirm/confirm.tsx';
import { type ErrorMessages, explain } from '../error-messages.ts';
import { followLanguage } from '../follow-language.ts';
import { keepOutcome, keptOutcome } from '../kept-outcome.ts';
import { loginPath, sessionsPath } from '../next.ts';
import { pageUser, setPageUser } from '../page-user.ts';
import { fillParts, sentences, texts } from '../texts.ts';
import { busyState, leave } from '../ui/busy.ts';
import { Countdown } from '../ui/countdown.tsx';
import { Button, Heading, Icon, Warning } from '../ui/elements.tsx';
import { Details, Fact, Timestamp, Untrusted, UntrustedHint } from '../ui/facts.tsx';
import { Form, UserCodeField } from '../ui/form.tsx';
import { cautionIcon } from '../ui/icons.ts';
import { LoadingPage, mount, UnavailablePage } from '../ui/page.tsx';
import { type Approval, type ApprovalStatus, watchApproval } from './approval-status.ts';
import { Approved } from './outcome.tsx';

type Step =
  | { at: 'loading' }
  | { at: 'unavailable' }
  | { at: 'code'; isUnknownCode?: boolean }
  | Review
  | { at: 'approved'; status: ApprovalStatus; sessionId: string | null; confirmationCode: string | undefined }
  | { at: 'denied' };

/** A decision made on this page. It is shown again to the person who made it. */
interface Decision extends Approval {
  readonly decision: 'approve' | 'deny';
  readonly userId: string | undefined;
}

interface Review {
  readonly at: 'review';
  readonly device: PendingDevice;
  readonly expiresAt: Date;
}

const step = signal<Step>({ at: 'loading' });
const code = signal('');
const busy = busyState();
const { error } = busy;
/** An approval got no response, so it may have taken effect. */
let approvalInDoubt = false;

const codeErrors = {
  invalid_request: texts.errors.notACode,
  invalid_grant: texts.device.unknownCode,
  invalid_scope: texts.device.noLongerOffered,
  invalid_target: texts.device.noLongerOffered,
};

/** The path of this page with its code, to come back to. */
const here = () => {
  const entered = normalizeUserCode(code.value);
  return entered === undefined
    ? '/device'
    : `/device?${new URLSearchParams({ user_code: formatCode(entered) })}`;
};

/** What went wrong. If the session has ended, goes to the sign-in page instead. */
const explainOrSignIn = (problem: Problem, messages?: ErrorMessages): string | undefined =>
  problem.code === 'invalid_token'
    ? leave(() => location.assign(loginPath(here())))
    : explain(problem, messages);

/** Looks up the code, which changes nothing. On failure the field keeps what was typed. */
async function lookUp(): Promise<string | undefined> {
  const entered = normalizeUserCode(code.value);
  if (entered === undefined) {
    step.value = { at: 'code' };
    return code.value.trim() === '' ? texts.device.enterCode : codeErrors.invalid_request;
  }
  const result = await call('verifyDevice', { body: { user_code: formatCode(entered) } });
  if (!result.ok) {
    const { code: problem } = result.problem;
    if (problem !== 'invalid_token') step.value = { at: 'code', isUnknownCode: problem === 'invalid_grant' };
    return explainOrSignIn(result.problem, codeErrors);
  }
  // Puts a typed code into the URL, so that it survives a reload.
  history.replaceState(null, '', here());
  showReview(result.value);
  return undefined;
}

function showReview(device: PendingDevice): void {
  const expiresAt = new Date(Date.now() + device.expires_in * 1000);
  const review: Review = { at: 'review', device, expiresAt };
  step.value = review;
  setTimeout(() => {
    if (step.value === review && !busy.now.value) backToCode(texts.device.codeExpired);
  }, device.expires_in * 1000);
}

function backToCode(message: string): void {
  error.value = message;
  step.value = { at: 'code', isUnknownCode: true };
}

const decide = (decision: Decision['decision'], { device, expiresAt }: Review) =>
  busy.run(async () => {
    const body = { user_code: device.user_code };
    const result = await withRecentSignIn<DeviceConfirmation | undefined>(() =>
      decision === 'deny'
        ? call('denyDevice', { body })
        : withTouch(
            device.passkey !== null,
            () => call('verifyDevice', { body }),
            (passkey) => call('approveDevice', { body: { ...body, passkey } }),
          ),
    );
    if (!result.ok) return decisionFailed(decision, result.problem, device);
    const made: Decision = {
      decision,
      userId: pageUser()?.id,
      sessionId: device.session_id,
      requestedAt: device.requested_at,
      until: expiresAt.getTime(),
    };
    keepOutcome(made, here());
    // Never stored: it is shown once.
    showOutcome(made, result.value?.confirmation_code);
    return undefined;
  });

async function decisionFailed(
  decision: Decision['decision'],
  problem: Problem,
  { passkey }: PendingDevice,
): Promise<string | undefined> {
  // What was refused is the passkey, if the code is still waiting.
  if (problem.code === 'invalid_grant' && passkey !== null)
    return (await lookUp()) ?? texts.errors.touch.refused;
  if (problem.code === 'invalid_grant') {
    backToCode(approvalInDoubt ? texts.device.approvalInDoubt : codeErrors.invalid_grant);
    return undefined;
  }
  approvalInDoubt ||= decision === 'approve' && problem.code === 'unreachable';
  return explainOrSignIn(problem, { ...codeErrors, ...touchErrors });
}

function showOutcome(made: Decision, confirmationCode?: string): void {
  const show = (status: ApprovalStatus) => {
    const now = step.value;
    if (now.at === 'approved' && now.status === 'withdrawn') return;
    step.value = { at: 'approved', status, sessionId: made.sessionId, confirmationCode };
  };
  if (made.decision === 'deny') step.value = { at: 'denied' };
  else void watchApproval(made, show, { listEventsSince, untilVisible, pause });
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function untilVisible(): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

/** Stops the approved session from starting, or ends it if the device was faster. */
const withdraw = (sessionId: string | null) =>
  busy.run(async () => {
    if (sessionId === null) return undefined;
    const result = await call('revokeSession', { params: { id: sessionId } });
    if (result.ok)
      step.value = { at: 'approved', status: 'withdrawn', sessionId, confirmationCode: undefined };
    // If the session has already ended, polling the security log shows how.
    return result.ok || result.problem.code === 'not_found' ? undefined : explainOrSignIn(result.problem);
  });

async function start(): Promise<void> {
  code.value = (new URLSearchParams(location.search).get('user_code') ?? '').slice(0, fieldLimits.userCode);
  error.value = '';
  step.value = { at: 'loading' };
  const me = await getProfile();
  if (!me.ok) {
    if (me.problem.code === 'invalid_token') location.replace(loginPath(here()));
    else {
      error.value = explain(me.problem);
      step.value = { at: 'unavailable' };
    }
    return;
  }
  if (followLanguage(me.value.locale)) return;
  setPageUser(me.value);
  const made = keptOutcome<Decision>();
  if (made?.userId === me.value.id) showOutcome(made);
  else if (code.value === '') step.value = { at: 'code' };
  else error.value = (await lookUp()) ?? '';
}

function CodeStep({ isUnknownCode = false }: { isUnknownCode?: boolean | undefined }) {
  return (
    <>
      <div class="intro">
        <Heading key="code">{texts.device.heading}</Heading>
        <p class="quiet">{texts.device.enterCode}</p>
      </div>
      <Form onSubmit={() => busy.run(lookUp)}>
        <UserCodeField id="user_code" label={texts.device.code} value={code} error={error.value} takesFocus />
        <Button class="primary" busy={busy}>
          {busy.label(texts.common.continue)}
        </Button>
      </Form>
      {isUnknownCode ? (
        <p class="links">
          <a href={sessionsPath}>{texts.device.sessions}</a>
        </p>
      ) : null}
      <SignedInAs here={here()} />
      <ConfirmDialog />
    </>
  );
}

function ReviewStep({ review }: { review: Review }) {
  const { device, expiresAt } = review;
  const isImpossible = device.confirmation === 'impossible';
  return (
    <ReviewView
      question={texts.device.question}
      access={device}
      accessHeading={texts.device.access}
      busy={busy}
      canApprove={!isImpossible}
      isTouched={device.passkey !== null}
      decide={(decision) => decide(decision, review)}
      here={here()}
    >
      <p class="quiet">{texts.device.compare}</p>
      <p class="code-box">
        <output id="shown-code" class="big-code" translate={false}>
          {device.user_code}
        </output>
        <span id="expires" class="quiet">
          {fillParts(texts.device.expiresIn, { time: <Countdown until={expiresAt.getTime()} /> })}
        </span>
      </p>
      <Warning>
        {fillParts(texts.common.sentences, {
          first: <strong>{texts.device.warning}</strong>,
          second: device.same_network
            ? texts.device.warningText
            : sentences(texts.device.warningText, texts.device.otherNetwork),
        })}
      </Warning>
      {isImpossible ? <Warning id="confirmation-impossible">{texts.device.confirmImpossible}</Warning> : null}
      <DeviceDetails device={device} />
    </ReviewView>
  );
}

function CurrentStep() {
  const now = step.value;
  switch (now.at) {
    case 'loading':
      return <LoadingPage heading={texts.device.heading} entries={3} />;
    case 'unavailable':
      return <UnavailablePage heading={texts.device.heading} error={error.value} onRetry={start} />;
    case 'code':
      return <CodeStep isUnknownCode={now.isUnknownCode} />;
    case 'review':
      return <ReviewStep review={now} />;
    case 'approved':
      return (
        <Approved
          status={now.status}
          confirmationCode={now.confirmationCode}
          busy={busy}
          onWithdraw={() => withdraw(now.sessionId)}
        />
      );
    case 'denied':
      return <Denied />;
  }
}

/** What is known about the device, for the user to compare with their own: a line each. The rest is folded. */
const DeviceDetails = ({ device }: { device: PendingDevice }) => (
  <>
    <dl id="device-details" class="facts">
      <Fact label={texts.device.network} id="network">
        {device.same_network ? (
          texts.device.sameNetwork
        ) : (
          <strong class="caution">
            <Icon path={cautionIcon} /> {texts.device.differentNetwork}
          </strong>
        )}
      </Fact>
      <Fact label={texts.common.ipAddress} id="ip-address">
        {device.ip_address ?? <span class="missing">{texts.common.unknown}</span>}
      </Fact>
      <Fact label={texts.common.program} id="client-name">
        <Untrusted text={device.client_name} />
      </Fact>
      <Fact label={texts.common.device} id="device-name">
        <Untrusted text={device.device_name} />
      </Fact>
    </dl>
    {device.client_name === null && device.device_name === null ? null : <UntrustedHint />}
    <Details summary={texts.device.details}>
      <dl>
        <Fact label={texts.device.requested} id="requested-at">
          <Timestamp at={device.requested_at} />
        </Fact>
        <Fact label={texts.common.userAgent} id="user-agent">
          <Untrusted text={device.user_agent} />
        </Fact>
      </dl>
      {device.user_agent === null || device.client_name !== null || device.device_name !== null ? null : (
        <UntrustedHint />
      )}
    </Details>
  </>
);

mount(CurrentStep, () => step.value.at === 'loading');
void start();
