import { fieldLimits } from '@latchkey/contract/field-limits';
import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import type { Result } from '../api.ts';
import { type ErrorMessages, explain } from '../error-messages.ts';
import { keepOutcome, keptOutcome } from '../kept-outcome.ts';
import { texts } from '../texts.ts';
import { busyState } from './busy.ts';
import { Button, ErrorMessage, Heading } from './elements.tsx';
import { Form } from './form.tsx';
import { approvedIcon, linkIcon } from './icons.ts';
import { HomeLink, mount, Outcome as OutcomeView, Placeholder } from './page.tsx';

/** The token in this page's URL fragment; undefined unless it is complete and starts with `prefix`. */
export function tokenFromLink(prefix: string): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  const isComplete =
    token.startsWith(prefix) && token.length > prefix.length && token.length <= fieldLimits.token;
  return isComplete ? token : undefined;
}

/** Removes the token from the URL once it has been used or declined; until then a reload must still find it. */
export const closeLink = (outcome: object): void => keepOutcome(outcome, location.pathname);

// Opening a second link in the same tab changes only the fragment, which does not reload the page.
window.addEventListener('hashchange', () => location.reload());

type Outcome<T> = { at: 'kept' } | { at: 'done'; value: T };
type Step<T> = { at: 'incomplete' } | { at: 'question' } | Outcome<T>;

export interface DoneProps<T> {
  readonly value: T;
  /** The link's token, for a follow-up request; undefined after a reload. */
  readonly token: string | undefined;
  /** Replaces the value shown, now and after a reload. */
  readonly onChange: (value: T) => void;
}

interface EmailLinkPage<T> {
  /** Prefix of the tokens the link may carry. */
  readonly prefix: string;
  readonly heading: string;
  /** Fetches what the question is about. If that fails, it is asked all the same. */
  readonly prepare: (token: string) => Promise<void>;
  readonly about?: ComponentChildren;
  readonly text: ComponentChildren;
  /** Fields of the form, given the error to show. */
  readonly fields?: (error: string) => ComponentChildren;
  /** Label of the button that changes nothing. */
  readonly decline: string;
  /** Label of the button that spends the token, and the request it sends. */
  readonly confirm: string;
  readonly confirmClass: 'primary' | 'danger';
  readonly onConfirm: (token: string) => Promise<Result<T>>;
  /** Read when a request fails. */
  readonly errorMessages: () => ErrorMessages;
  readonly Done: ComponentType<DoneProps<T>>;
}

/**
 * Mounts the page behind an emailed link that asks one question. Opening it changes nothing, even with scripts
 * running: the token is only sent on a click. The button that changes nothing comes first, because mail scanners may
 * press the first button they find.
 */
export function mountEmailLinkPage<T>(page: EmailLinkPage<T>): void {
  const token = tokenFromLink(page.prefix);
  const step = signal<Step<T>>(
    token === undefined ? (keptOutcome<Outcome<T>>() ?? { at: 'incomplete' }) : { at: 'question' },
  );
  const isReady = signal(false);
  const busy = busyState();

  const finish = (outcome: Outcome<T>) => {
    closeLink(outcome);
    step.value = outcome;
  };

  const confirm = () =>
    busy.run(async () => {
      const result = await page.onConfirm(token ?? '');
      if (!result.ok) return explain(result.problem, page.errorMessages());
      finish({ at: 'done', value: result.value });
      return undefined;
    });

  const Question = () => (
    <>
      {page.about}
      {page.text}
      {page.fields ? null : <ErrorMessage text={busy.error.value} />}
      <Form onSubmit={confirm}>
        {page.fields?.(busy.error.value)}
        <div class="choice">
          <Button busy={busy} onClick={() => finish({ at: 'kept' })}>
            {page.decline}
          </Button>
          <Button class={page.confirmClass} busy={busy}>
            {busy.label(page.confirm)}
          </Button>
        </div>
      </Form>
    </>
  );

  const Page = () => {
    const now = step.value;
    switch (now.at) {
      case 'incomplete':
        return (
          <OutcomeView tone="caution" icon={linkIcon} heading={texts.emailLink.incomplete}>
            <p>{texts.emailLink.incompleteText}</p>
            <HomeLink />
          </OutcomeView>
        );
      case 'question':
        return (
          <>
            <Heading key="question">{page.heading}</Heading>
            {isReady.value ? <Question /> : <Placeholder entries={1} />}
          </>
        );
      case 'kept':
        return (
          <OutcomeView tone="neutral" icon={approvedIcon} heading={texts.emailLink.unchanged} takesFocus>
            <p>{texts.emailLink.declined}</p>
            <HomeLink />
          </OutcomeView>
        );
      case 'done':
        return (
          <page.Done value={now.value} token={token} onChange={(value) => finish({ at: 'done', value })} />
        );
    }
  };

  mount(Page, () => step.value.at === 'question' && !isReady.value);
  const ask = () => {
    isReady.value = true;
  };
  if (token !== undefined) page.prepare(token).then(ask, ask);
}
