import type { SignOutPage, SignOutParameters } from '@latchkey/contract/openid';
import { signal } from '@preact/signals';
import { call, getSignedInUser } from '../api.ts';
import { explain } from '../error-messages.ts';
import { home } from '../next.ts';
import { pageData } from '../page-data.ts';
import { pageUser, setPageUser, setPageUserId } from '../page-user.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading } from '../ui/elements.tsx';
import { Form } from '../ui/form.tsx';
import { approvedIcon } from '../ui/icons.ts';
import { LoadingPage, mount, Outcome, Unanswerable, UnavailablePage } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';

type ValidPage = Extract<SignOutPage, { outcome: 'valid' }>;

const page = pageData<SignOutPage>();
const step = signal<'loading' | 'unavailable' | 'question' | 'done'>('loading');
const busy = busyState();
const { error } = busy;

/** The service ends it only for its own user, or if no one is signed in. */
const endsApplication = (userId: string | undefined): boolean =>
  userId !== undefined && (pageUser()?.id ?? userId) === userId;

const signOut = (parameters: SignOutParameters) =>
  busy.run(async () => {
    const result = await call('confirmSignOut', { body: parameters });
    if (!result.ok) return explain(result.problem);
    const { redirect } = result.value;
    if (redirect === null) {
      step.value = 'done';
      return undefined;
    }
    return leaveTo(redirect);
  });

const Question = ({ parameters, userId }: ValidPage) => (
  <>
    <Heading key="question">{fill(texts.signOut.question)}</Heading>
    <p>{endsApplication(userId) ? texts.signOut.text : texts.signOut.fromHere}</p>
    {!pageUser()?.email ? null : (
      <p class="quiet">{fillParts(texts.common.signedInAs, { email: <bdi>{pageUser()?.email}</bdi> })}</p>
    )}
    <ErrorMessage text={error.value} />
    <Form onSubmit={() => signOut(parameters)}>
      <div class="choice">
        <ReviewedButton class="primary" busy={busy}>
          {busy.label(texts.common.signOut)}
        </ReviewedButton>
        <Button busy={busy} onClick={() => location.assign(home)}>
          {texts.signOut.stay}
        </Button>
      </div>
    </Form>
  </>
);

const Done = ({ redirect }: ValidPage) => (
  <Outcome tone="success" icon={approvedIcon} heading={texts.common.signedOut} takesFocus>
    {redirect === null ? (
      <>
        <p>{texts.signOut.doneText}</p>
        <p>
          <a href="/login">{texts.common.signIn}</a>
        </p>
      </>
    ) : (
      <a class="button wide-button" href={redirect}>
        {texts.common.continue}
      </a>
    )}
  </Outcome>
);

function CurrentStep() {
  if (page.outcome === 'refused')
    return <Unanswerable text={fill(texts.signOut.refusedText)} message={page.message} />;
  const now = step.value;
  if (page.outcome === 'failed' || now === 'unavailable')
    return (
      <UnavailablePage heading={texts.common.signOut} error={error.value} onRetry={() => location.reload()} />
    );
  switch (now) {
    case 'loading':
      return <LoadingPage heading={texts.common.signOut} entries={1} />;
    case 'question':
      return <Question {...page} />;
    case 'done':
      return <Done {...page} />;
  }
}

/** Asks once it is known who is signed in: whom the page does not name, it does not sign out. */
async function start({ userId }: ValidPage): Promise<void> {
  const me = await getSignedInUser();
  if (me.ok) {
    setPageUser(me.value);
    step.value = 'question';
  } else if (me.problem.code === 'invalid_token') {
    if (userId !== undefined) setPageUserId(userId);
    step.value = userId === undefined ? 'done' : 'question';
  } else {
    error.value = explain(me.problem);
    step.value = 'unavailable';
  }
}

mount(CurrentStep, () => page.outcome === 'valid' && step.value === 'loading');
if (page.outcome === 'valid') void start(page);
else if (page.outcome === 'failed') error.value = explain(page.problem);
