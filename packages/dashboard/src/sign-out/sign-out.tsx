import type { SignOutPage, SignOutParameters } from '@latchkey/contract/openid';
import { signal } from '@preact/signals';
import { call, getSignedInUser } from '../api.ts';
import { explain } from '../error-messages.ts';
import { home } from '../next.ts';
import { pageData } from '../page-data.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState, leaveTo } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading } from '../ui/elements.tsx';
import { Form } from '../ui/form.tsx';
import { approvedIcon } from '../ui/icons.ts';
import { mount, Outcome, Unanswerable } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';

const page = pageData<SignOutPage>();
/** No application sent the person here. */
const isOpenedDirectly = page.outcome === 'valid' && Object.keys(page.parameters).length === 0;
const isDone = signal(false);
/** Who is signed in, as far as it is known. */
const email = signal<string | undefined>(undefined);
const busy = busyState();
const { error } = busy;

const signOut = (parameters: SignOutParameters) =>
  busy.run(async () => {
    const result = await call('confirmSignOut', { body: parameters });
    if (!result.ok) return explain(result.problem);
    const { redirect } = result.value;
    if (redirect === null) {
      isDone.value = true;
      return undefined;
    }
    return leaveTo(redirect);
  });

const Question = ({ parameters }: { parameters: SignOutParameters }) => (
  <>
    <Heading key="question">{fill(texts.signOut.question)}</Heading>
    <p>{isOpenedDirectly ? texts.signOut.fromHere : texts.signOut.text}</p>
    {email.value === undefined ? null : (
      <p class="quiet">{fillParts(texts.common.signedInAs, { email: <bdi>{email.value}</bdi> })}</p>
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

const Done = () => (
  <Outcome tone="success" icon={approvedIcon} heading={texts.common.signedOut} takesFocus>
    <p>{texts.signOut.doneText}</p>
    <p>
      <a href="/login">{texts.common.signIn}</a>
    </p>
  </Outcome>
);

mount(() => {
  if (page.outcome === 'refused')
    return <Unanswerable text={fill(texts.signOut.refusedText)} message={page.message} />;
  return isDone.value ? <Done /> : <Question parameters={page.parameters} />;
});

void getSignedInUser().then((me) => {
  if (me.ok) email.value = me.value.email;
  else if (isOpenedDirectly && me.problem.code === 'invalid_token') isDone.value = true;
});
