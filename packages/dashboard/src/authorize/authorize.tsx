import type {
  AuthorizationResponse,
  AuthorizationSource,
  PendingAuthorization,
} from '@latchkey/contract/authorize';
import type { AuthorizationPage } from '@latchkey/contract/page-data';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { call, getProfile, type Problem } from '../api.ts';
import { Denied, Review, SignedInAs } from '../approval/review.tsx';
import { touchErrors, withTouch } from '../approval/touch.ts';
import { withRecentSignIn } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { followLanguage } from '../follow-language.ts';
import { keepOutcome, keptOutcome } from '../kept-outcome.ts';
import { loginPath, switchAccountPath } from '../next.ts';
import { pageData } from '../page-data.ts';
import { setPageUser } from '../page-user.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState, leave as leavePage } from '../ui/busy.ts';
import { Warning } from '../ui/elements.tsx';
import { Fact, Untrusted, UntrustedHint } from '../ui/facts.tsx';
import { approvedIcon, cautionIcon } from '../ui/icons.ts';
import { HomeLink, LoadingPage, mount, Outcome, Reason, Unanswerable, UnavailablePage } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';

type Decision = 'approve' | 'deny';

interface Refusal {
  readonly message: string;
  readonly response: AuthorizationResponse;
  readonly source: AuthorizationSource;
  /** The client expects another person than the one who is signed in. */
  readonly isForAnother?: boolean;
}

type Step =
  | { at: 'loading' }
  | { at: 'unavailable' }
  | { at: 'unknown'; message: string }
  | { at: 'refused'; refusal: Refusal }
  | { at: 'review'; pending: PendingAuthorization }
  | { at: 'decided'; decision: Decision };

/** The request, as the client sent it. The service checks it anew each time. */
const request: Readonly<Record<string, string>> = Object.fromEntries(new URLSearchParams(location.search));
const here = location.pathname + location.search;
const page = pageData<AuthorizationPage>();

const prompts = (request['prompt'] ?? '').split(' ');
/** The client wants the person to sign in now, even if they are signed in. */
const asksForSignIn = prompts.includes('login') || request['max_age'] === '0';

const step = signal<Step>({ at: 'loading' });
const busy = busyState();
const { error } = busy;

/**
 * @param stopped what to show if the browser, by the policy of this page, does not follow a client that redirects a form to another
 * origin. The client has received it.
 */
function leave(response: AuthorizationResponse, stopped: Step): undefined {
  step.value = { at: 'loading' };
  document.addEventListener('securitypolicyviolation', () => {
    step.value = stopped;
  });
  return leavePage(() => goBack(response));
}

/**
 * A refusal goes to a service by itself, to any other client at a click: anybody may name a port of this computer. So does one that
 * would tell a service who is signed in.
 */
function refuse(refusal: Refusal): void {
  const refused: Step = { at: 'refused', refusal };
  if (refusal.source.client.kind === 'service' && !refusal.isForAnother) leave(refusal.response, refused);
  else step.value = refused;
}

/** Says why the request could not be looked at, with a button that tries again. */
function unavailable(problem: Problem): void {
  error.value = explain(problem, { ...touchErrors, invalid_grant: texts.errors.touch.refused });
  if (step.value.at !== 'review') step.value = { at: 'unavailable' };
}

/** A sign-in that is not new enough reloads the page, which notes that the request came, and then shows the sign-in. */
function failed(problem: Problem, source: AuthorizationSource): undefined {
  const response = responseIn(problem);
  const { code, message = '' } = problem;
  if (response !== undefined) refuse({ message, response, source, isForAnother: code === 'login_required' });
  else if (code === 'invalid_token') location.replace(loginPath(here));
  else if (code === 'insufficient_user_authentication' && asksForSignIn) leavePage(() => location.reload());
  else if (code === 'invalid_request') step.value = { at: 'unknown', message };
  else unavailable(problem);
}

const decide = (decision: Decision, pending: PendingAuthorization) =>
  busy.run(async () => {
    const decided = { ...request, scope: pending.scope };
    const send = () =>
      decision === 'deny'
        ? call('denyAuthorization', { body: decided })
        : withTouch(
            pending.passkey !== null,
            () => call('verifyAuthorization', { body: decided }),
            (passkey) => call('approveAuthorization', { body: { ...decided, passkey } }),
          );
    // A sign-in on this page would not count if the browser forgot meanwhile when the request came.
    const result = await (asksForSignIn ? send() : withRecentSignIn(send));
    if (!result.ok) return failed(result.problem, pending);
    // Coming back shows that it was answered, instead of asking again.
    keepOutcome({ decision }, here);
    return leave(result.value, { at: 'decided', decision });
  });

async function start(): Promise<void> {
  const made = keptOutcome<{ decision: Decision }>();
  if (made !== undefined) step.value = { at: 'decided', ...made };
  else if (page.outcome === 'unknown') step.value = { at: 'unknown', message: page.message };
  else if (page.outcome === 'failed') unavailable(page.problem);
  else if (page.outcome === 'refused')
    refuse({ message: page.message, response: page.response, source: page });
  else await lookUp(page);
}

async function lookUp(source: AuthorizationSource): Promise<void> {
  error.value = '';
  step.value = { at: 'loading' };
  const me = await getProfile();
  if (!me.ok) return failed(me.problem, source);
  if (followLanguage(me.value.locale)) return;
  setPageUser(me.value);
  const result = await call('verifyAuthorization', { body: request });
  if (!result.ok) return failed(result.problem, source);
  const pending = result.value;
  const isGiven = pending.approval === 'given';
  if (pending.sign_in_needed && (asksForSignIn || isGiven)) location.replace(switchAccountPath(here));
  else if (isGiven && !prompts.includes('select_account')) await decide('approve', pending);
  else step.value = { at: 'review', pending };
}

function ReviewStep({ pending }: { pending: PendingAuthorization }) {
  const { client } = pending;
  return (
    <Review
      question={fillParts(texts.authorize.question, { program: <Program client={client} /> })}
      access={pending}
      accessHeading={texts.authorize.access}
      busy={busy}
      isTouched={pending.passkey !== null}
      decide={(decision) => decide(decision, pending)}
      here={here}
    >
      {pending.approval === 'given' ? null : (
        <Warning>
          {fillParts(texts.common.sentences, {
            first: <strong>{texts.device.warning}</strong>,
            second: pending.loopback_warning
              ? fillParts(texts.authorize.loopbackText, { program: <Program client={client} /> })
              : client.kind === 'external'
                ? fillParts(texts.authorize.externalText, { host: <Program client={client} /> })
                : texts.authorize.warningText,
          })}
        </Warning>
      )}
      <ProgramDetails {...pending} />
    </Review>
  );
}

function Refused({ refusal }: { refusal: Refusal }) {
  const { message, response, source, isForAnother } = refusal;
  const { redirect_host: host } = source;
  const text = isForAnother ? texts.authorize.otherAccountText : texts.authorize.refusedText;
  return (
    <Outcome tone="caution" icon={cautionIcon} heading={texts.authorize.refused}>
      <p>{fillParts(text, { host: <Program client={source.client} /> })}</p>
      <ReviewedButton
        id="go-back"
        class="primary wide-button"
        onClick={() => leave(response, { at: 'refused', refusal })}
      >
        {host === null ? texts.authorize.goBackToProgram : fill(texts.authorize.goBack, { host })}
      </ReviewedButton>
      {isForAnother ? <SignedInAs here={here} /> : null}
      <Reason message={message} />
      <HomeLink />
    </Outcome>
  );
}

const Decided = ({ decision }: { decision: Decision }) =>
  decision === 'approve' ? (
    <Outcome tone="success" icon={approvedIcon} heading={texts.device.approved}>
      <p>{texts.authorize.approvedText}</p>
      <HomeLink />
    </Outcome>
  ) : (
    <Denied />
  );

function CurrentStep() {
  const now = step.value;
  switch (now.at) {
    case 'loading':
      return <LoadingPage heading={texts.authorize.heading} entries={3} />;
    case 'unavailable':
      return (
        <UnavailablePage
          heading={texts.authorize.heading}
          error={error.value}
          onRetry={() => (page.outcome === 'failed' ? location.reload() : void start())}
        />
      );
    case 'unknown':
      return <Unanswerable text={fill(texts.authorize.unknownText)} message={now.message} />;
    case 'refused':
      return <Refused refusal={now.refusal} />;
    case 'review':
      return <ReviewStep pending={now.pending} />;
    case 'decided':
      return <Decided decision={now.decision} />;
  }
}

/** Takes the browser to the client with a response. The service chose the address; a form keeps it out of the history. */
function goBack(response: AuthorizationResponse): void {
  if ('redirect' in response) {
    location.replace(response.redirect);
    return;
  }
  const form = document.createElement('form');
  form.method = 'post';
  form.action = response.form_post.action;
  form.hidden = true;
  for (const [name, value] of Object.entries(response.form_post.fields)) {
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}

/** The response that a refusal of the service has for the client, if the error belongs to the client. */
function responseIn({ body = {} }: Problem): AuthorizationResponse | undefined {
  const { redirect, form_post } = body as Partial<Record<string, never>>;
  if (redirect !== undefined) return { redirect };
  return form_post === undefined ? undefined : { form_post };
}

/** How a sentence refers to a client. An external client is called by its host, because it chose its name itself. */
const Program = ({ client: { name, host } }: Pick<AuthorizationSource, 'client'>) => (
  <bdi>{escapeInvisible(host ?? name)}</bdi>
);

/** Who asks, and where the answer goes. */
function ProgramDetails({ client, redirect_host, device_name }: PendingAuthorization) {
  const isExternal = client.kind === 'external';
  return (
    <>
      <dl id="program-details" class="facts">
        <Fact label={texts.common.program} id="client-name">
          {isExternal ? <Untrusted text={client.name} /> : <bdi>{escapeInvisible(client.name)}</bdi>}
        </Fact>
        <Fact label={texts.authorize.kind} id="client-kind">
          {fill(texts.authorize.kinds[client.kind])}
        </Fact>
        {client.host === null ? null : (
          <Fact label={texts.authorize.host} id="client-host">
            <strong>{client.host}</strong>
          </Fact>
        )}
        <Fact label={texts.authorize.goesBackTo} id="redirect-host">
          {redirect_host === null ? texts.authorize.thisComputer : <strong>{redirect_host}</strong>}
        </Fact>
        {client.kind === 'command_line' ? (
          <Fact label={texts.common.device} id="device-name">
            <Untrusted text={device_name} />
          </Fact>
        ) : null}
      </dl>
      {isExternal || device_name !== null ? <UntrustedHint /> : null}
    </>
  );
}

mount(CurrentStep, () => step.value.at === 'loading');
void start();
