import { signal } from '@preact/signals';
import type { Problem, Result, verifyMagicLink } from '../api.ts';
import { emailErrors, explain } from '../error-messages.ts';
import { fill, texts } from '../texts.ts';
import type { Busy } from '../ui/busy.ts';

/**
 * In the browser that requested the link, one click signs in. Anywhere else, the user must enter the address it was
 * sent to. Opening the page spends nothing, even with scripts running: the token is only sent on a click, or to learn
 * whether the link still works.
 */
type Question = { at: 'oneClick'; email: string } | { at: 'address' };
type Step = Used | Question | { at: 'incomplete' } | { at: 'checking' } | { at: 'dead' };
export type Used = { at: 'used'; next: string };

/** What the page finds in its browser, and does there. */
interface LinkPage {
  /** Empty if the link is incomplete. */
  readonly token: string;
  /** The address, if this browser requested the link. */
  readonly sentTo: string | undefined;
  /** How the page ended, if it is shown again. */
  readonly kept: Used | undefined;
  readonly busy: Busy;
  readonly preview: (token: string) => Promise<Result<unknown>>;
  readonly verify: typeof verifyMagicLink;
  /** Called once, after the sign-in. */
  readonly end: () => undefined;
}

/** Starts the page behind a sign-in link. */
export function start({ token, sentTo, kept, busy, preview, verify, end }: LinkPage) {
  const step = signal<Step>(token === '' ? (kept ?? { at: 'incomplete' }) : { at: 'checking' });

  /** Without an answer the page asks all the same, and the answer to the question says what is wrong. */
  async function check(): Promise<void> {
    const result = await preview(token);
    if (!result.ok && result.problem.code === 'invalid_grant') step.value = { at: 'dead' };
    else step.value = sentTo === undefined ? { at: 'address' } : { at: 'oneClick', email: sentTo };
  }

  const signIn = (address: string) =>
    busy.run(async () => {
      if (address === '') return texts.common.enterEmailAddress;
      const result = await verify({ token, email: address });
      return result.ok ? end() : refused(result.problem, address);
    });

  /** Tells a link that has ended since the page was opened from an address that is not the link's. */
  async function refused(problem: Problem, address: string): Promise<string | undefined> {
    if (problem.code !== 'invalid_grant')
      return explain(problem, { invalid_request: emailErrors.invalid_request });
    await check();
    if (step.value.at === 'dead') return undefined;
    step.value = { at: 'address' };
    return fill(texts.magicLink.wrongAddress, { email: address });
  }

  function askAddress(): void {
    busy.error.value = '';
    step.value = { at: 'address' };
  }

  if (token !== '') void check();
  return { step, signIn, askAddress };
}
