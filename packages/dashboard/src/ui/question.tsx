import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Busy } from './busy.ts';
import { Button } from './button.tsx';
import { focusAgain, useFocus } from './focus.ts';
import { Choice, type ChoiceProps } from './form.tsx';
import { Icon } from './icon.tsx';
import { cautionIcon } from './icons.ts';
import { ErrorMessage } from './messages.tsx';

/** Asks before something that cannot be undone. Takes the focus at once, since the button that opened it is gone. */
export const Question = ({ children }: { children: ComponentChildren }) => (
  <p ref={useFocus<HTMLParagraphElement>()} tabIndex={-1} class="warning">
    <Icon path={cautionIcon} />
    <span>{children}</span>
  </p>
);

/** The id of the button whose question is open: one at a time. */
const asking = signal<string | undefined>(undefined);

export const isAsking = (id: string): boolean => asking.value === id;

export function stopAsking(): void {
  asking.value = undefined;
}

interface AskingButtonProps extends Pick<ChoiceProps, 'label'> {
  readonly busy: Pick<Busy, 'now' | 'label' | 'error'>;
  readonly id: string;
  /** The id of the name of what the button is about. */
  readonly titleId?: string;
  readonly question: ComponentChildren;
  /** The label of the button below the question, if it says more. */
  readonly confirm?: string;
  readonly onConfirm: () => Promise<void>;
}

/** A button that removes or ends something. The question takes its place until it is answered, and shows what goes wrong. */
export function AskingButton(props: AskingButtonProps) {
  const { id, busy, label, titleId, question, confirm = label, onConfirm } = props;
  if (!isAsking(id))
    return (
      <Button
        id={id}
        busy={busy}
        aria-describedby={titleId}
        onClick={() => {
          busy.error.value = '';
          asking.value = id;
        }}
      >
        {label}
      </Button>
    );
  const cancel = () => {
    busy.error.value = '';
    stopAsking();
    focusAgain(id);
  };
  return (
    <div class="question">
      <Question>{question}</Question>
      <ErrorMessage id="question-error" text={busy.error.value} />
      <Choice busy={busy} label={confirm} onConfirm={onConfirm} onCancel={cancel} />
    </div>
  );
}
