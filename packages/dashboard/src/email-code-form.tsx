import type { Answer } from '@latchkey/client/operations';
import { normalizeEmailCode, normalizeUserCode } from '@latchkey/contract/codes';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { verifyMagicLink } from './api.ts';
import { explain } from './error-messages.ts';
import { forgetSentEmails } from './sign-in-emails.ts';
import { texts } from './texts.ts';
import type { Busy } from './ui/busy.ts';
import { Button } from './ui/elements.tsx';
import { Form, TextField } from './ui/form.tsx';

interface EmailCodeFormProps {
  readonly id: string;
  readonly label: string;
  readonly describedBy?: string;
  /** Of the email. */
  readonly request: string;
  readonly busy: Busy<'code'>;
  readonly onSignedIn: (signIn: Answer<'verifyMagicLink'>) => undefined;
}

/** Signs in with the code from an email; spaces and hyphens in it don't matter. A pasted code submits the form. */
export function EmailCodeForm({ id, label, describedBy, request, busy, onSignedIn }: EmailCodeFormProps) {
  const code = useSignal('');
  // A newer email has another code.
  useLayoutEffect(() => {
    code.value = '';
  }, [request]);
  const signIn = () =>
    busy.run(async () => {
      const mistake = mistakeIn(code.value);
      if (mistake !== undefined) return mistake;
      const result = await verifyMagicLink({ request, code: code.value });
      if (!result.ok) return explain(result.problem, { invalid_grant: texts.errors.wrongEmailCode });
      forgetSentEmails();
      return onSignedIn(result.value);
    }, 'code');
  return (
    <Form onSubmit={signIn}>
      <TextField
        id={id}
        label={texts.common.emailCode}
        value={code}
        error={busy.errorOf('code')}
        describedBy={describedBy}
        inputMode="numeric"
        autoComplete="one-time-code"
        takesFocus
        isCode
        submitsPasted={(text) => normalizeEmailCode(text) !== undefined}
        maxLength={fieldLimits.emailCode}
      />
      <Button class="primary" busy={busy}>
        {busy.label(label, 'code')}
      </Button>
    </Form>
  );
}

/** What cannot be a code is not sent, so that it costs no attempt: neither a slip nor the code of a device. */
function mistakeIn(typed: string): string | undefined {
  if (typed.trim() === '') return texts.common.enterEmailCode;
  if (normalizeUserCode(typed) !== undefined) return texts.errors.deviceCode;
  return normalizeEmailCode(typed) === undefined ? texts.errors.notAnEmailCode : undefined;
}
