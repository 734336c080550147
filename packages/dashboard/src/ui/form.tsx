import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import type { Busy } from './busy.ts';
import { Button } from './button.tsx';

/** A form submitted by script: Enter works, without native validation or navigation. */
export function Form({ onSubmit, children }: { onSubmit: () => Promise<void>; children: ComponentChildren }) {
  return (
    <form
      noValidate
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

export interface ChoiceProps {
  readonly busy: Pick<Busy, 'now' | 'label'>;
  /** The label of the button that continues. */
  readonly label: string;
  /** What that button does; without it, it submits its form. */
  readonly onConfirm?: () => Promise<void>;
  readonly onCancel: () => void;
}

/** Two buttons: one that submits a form, or removes something, and one that closes the form or the question. */
export const Choice = ({ busy, label, onConfirm, onCancel }: ChoiceProps) => (
  <div class="row">
    <Button class={onConfirm ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
      {busy.label(label)}
    </Button>
    <Button busy={busy} onClick={onCancel}>
      {texts.common.cancel}
    </Button>
  </div>
);
