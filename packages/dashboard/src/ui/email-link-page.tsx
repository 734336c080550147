import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import type { Result } from '../api.ts';
import { closeLink, linkOutcome, tokenFromLink } from '../email-link.ts';
import { type ErrorMessages, explain } from '../error-messages.ts';
import { busyState } from './busy.ts';
import { Form } from './form.tsx';
import { Heading } from './heading.tsx';
import { Delayed } from './loading.tsx';
import { ErrorMessage, StatusMessage } from './messages.tsx';
import { mount } from './mount.tsx';

type Outcome<T> = { at: 'kept' } | { at: 'done'; value: T };
type Step<T> =
  | { at: 'incomplete' }
  | { at: 'question'; token: string }
  | { at: 'kept' }
  | { at: 'done'; value: T; token?: string };

/** What the last step shows. */
export interface DoneProps<T> {
  readonly value: T;
  /** What the link held, for a further call; not there any more after a reload. */
  readonly token: string | undefined;
  /** Shows another value, and keeps it for a reload. */
  readonly onChange: (value: T) => void;
}

interface EmailLinkPage<T> {
  /** Of the tokens that the link may hold. */
  readonly prefix: string;
  readonly heading: string;
  readonly text: ComponentChildren;
  /** What the answer needs to be typed, given the message about it. */
  readonly fields?: (error: string) => ComponentChildren;
  /** False until the question is known. */
  readonly isReady?: ReadonlySignal<boolean>;
  /** The answer that changes nothing, and what is said after it. */
  readonly harmless: string;
  readonly keptText: string;
  /** The answer that spends the token, and what it does. */
  readonly act: string;
  readonly carryOut: (token: string) => Promise<Result<T>>;
  /** Whether something kept for a reload is what `carryOut` comes to. */
  readonly isValue: (kept: unknown) => kept is T;
  /** Looked up when something fails. */
  readonly errorMessages: () => ErrorMessages;
  readonly Done: ComponentType<DoneProps<T>>;
}

function outcomeBefore<T>(isValue: (kept: unknown) => kept is T): Step<T> {
  const { at, value } = linkOutcome();
  if (at === 'kept') return { at };
  return at === 'done' && isValue(value) ? { at, value } : { at: 'incomplete' };
}

/**
 * Makes the page behind a mail's link that asks one question. Opening it, and running its script, changes nothing:
 * the token leaves only with a click, and the harmless answer comes first, so that a mail scanner that presses the
 * first button it finds changes nothing either.
 */
export function mountEmailLinkPage<T>(question: EmailLinkPage<T>): void {
  const token = tokenFromLink(question.prefix);
  const step = signal<Step<T>>(
    token === undefined ? outcomeBefore(question.isValue) : { at: 'question', token },
  );
  const error = signal('');
  const busy = busyState();

  const end = (outcome: Outcome<T>, spent?: string) => {
    closeLink(outcome);
    step.value = outcome.at === 'done' && spent !== undefined ? { ...outcome, token: spent } : outcome;
  };

  const carryOut = (spent: string) =>
    busy.run(async () => {
      error.value = '';
      const result = await question.carryOut(spent);
      if (result.ok) end({ at: 'done', value: result.value }, spent);
      else error.value = explain(result.problem, question.errorMessages());
      return undefined;
    });

  const Question = ({ spent }: { spent: string }) => (
    <>
      <Heading key="question">{question.heading}</Heading>
      <p>{question.text}</p>
      <ErrorMessage text={error.value} />
      <Form onSubmit={() => carryOut(spent)}>
        {question.fields?.(error.value)}
        <div class="choice">
          <button type="button" disabled={busy.now.value} onClick={() => end({ at: 'kept' })}>
            {question.harmless}
          </button>
          <button type="submit" class="primary" disabled={busy.now.value}>
            {busy.now.value ? 'One moment…' : question.act}
          </button>
        </div>
      </Form>
    </>
  );

  mount(() => {
    const now = step.value;
    switch (now.at) {
      case 'incomplete':
        return (
          <>
            <Heading key="incomplete">This link is incomplete</Heading>
            <p>
              A part of it is missing here: open it in the mail once more, or copy all of it from there. If
              you have answered the question already, there is nothing left to do.
            </p>
          </>
        );
      case 'question':
        return question.isReady?.value === false ? (
          <>
            <Heading key="question">{question.heading}</Heading>
            <StatusMessage>
              <Delayed>One moment…</Delayed>
            </StatusMessage>
          </>
        ) : (
          <Question spent={now.token} />
        );
      case 'kept':
        return (
          <>
            <Heading key="kept" takesFocus>
              Nothing has changed
            </Heading>
            <p>{question.keptText}</p>
          </>
        );
      case 'done':
        return (
          <question.Done
            value={now.value}
            token={now.token}
            onChange={(value) => end({ at: 'done', value }, now.token)}
          />
        );
    }
  });
}
