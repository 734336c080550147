import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Busy } from './busy.ts';
import { Button, ErrorMessage, focusAgain, Warning } from './elements.tsx';
import { Choice, type ChoiceProps } from './form.tsx';

/** The id of the button whose question is open: one at a time. */
const asking = signal<string | undefined>(undefined);

export const isAsking = (id: string): boolean => asking.value === id;

/** Opens the question of a button, which shows what goes wrong from then on. */
export function ask(id: string, { error }: Pick<Busy, 'error'>): void {
  error.value = '';
  asking.value = id;
}

/** @param id of the button that gets the focus again */
export function stopAsking(id?: string): void {
  asking.value = undefined;
  if (id !== undefined) focusAgain(id);
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
      <Button id={id} busy={busy} aria-describedby={titleId} onClick={() => ask(id, busy)}>
        {label}
      </Button>
    );
  const cancel = () => {
    busy.error.value = '';
    stopAsking(id);
  };
  const closeOnEscape = ({ key }: KeyboardEvent) => key === 'Escape' && !busy.now.value && cancel();
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button inside does the same
    <div class="question" onKeyDown={closeOnEscape}>
      <Warning takesFocus>{question}</Warning>
      <ErrorMessage id="question-error" text={busy.error.value} />
      <Choice busy={busy} label={confirm} onConfirm={onConfirm} onCancel={cancel} />
    </div>
  );
}
