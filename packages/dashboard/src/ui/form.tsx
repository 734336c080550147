import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import type { Busy } from './busy.ts';
import { Button, ErrorMessage, useFocus } from './elements.tsx';
import { ReviewedButton } from './reviewed-button.tsx';

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
  readonly label: string;
  /** What that button does; without it, it submits its form. */
  readonly onConfirm?: () => Promise<void>;
  readonly onCancel: () => void;
  /** Whether a link can open the form, filled in. */
  readonly isReviewed?: boolean;
}

/** Two buttons: one that submits a form, or removes something, and one that closes the form or the question. */
export function Choice({ busy, label, onConfirm, onCancel, isReviewed = false }: ChoiceProps) {
  const Confirm = isReviewed ? ReviewedButton : Button;
  return (
    <div class="row">
      <Confirm class={onConfirm ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
        {busy.label(label)}
      </Confirm>
      <Button busy={busy} onClick={onCancel}>
        {texts.common.cancel}
      </Button>
    </div>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value: Signal<string>;
  /** The error message about this field, or empty. Moves focus here and is linked for assistive technology. */
  readonly error: string;
  /** The id of the element that shows the message. Without it, the message is below the field. */
  readonly errorId?: string;
  readonly takesFocus?: boolean;
  readonly maxLength: number;
}

/**
 * An email address. Not `type="email"`, with which some browsers rewrite the domain, so that one person could end up
 * with two accounts. Longer than the service accepts, so that it rejects an address instead of the browser truncating
 * it into someone else's.
 */
export const EmailField = (
  props: Omit<FieldProps, 'maxLength'> & { autoComplete: 'email' | 'off' | 'username webauthn' },
) => <TextField {...props} inputMode="email" maxLength={4 * fieldLimits.emailAddress} />;

interface LabelledProps extends Pick<FieldProps, 'id' | 'label' | 'hint'> {
  readonly children: ComponentChildren;
}

export const Labelled = ({ id, label, hint, children }: LabelledProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    {hint === undefined ? null : (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {children}
  </div>
);

interface SelectFieldProps extends Pick<FieldProps, 'id' | 'label' | 'hint' | 'value'> {
  readonly options: readonly { readonly value: string; readonly text: string }[];
}

export const SelectField = ({ id, label, hint, value, options }: SelectFieldProps) => (
  <Labelled id={id} label={label} hint={hint}>
    <select
      id={id}
      name={id}
      value={value.value}
      onChange={(event) => {
        value.value = event.currentTarget.value;
      }}
      aria-describedby={hint && `${id}-hint`}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} selected={option.value === value.value}>
          {option.text}
        </option>
      ))}
    </select>
  </Labelled>
);

/** The code of a device; case, spaces and hyphens don't matter. */
export const UserCodeField = (props: Omit<FieldProps, 'maxLength'>) => (
  <TextField {...props} isCode maxLength={fieldLimits.userCode} />
);

interface Kind {
  readonly inputMode?: 'email' | 'numeric' | 'text';
  readonly autoComplete?: string;
  /** The id of a `datalist` to choose from. */
  readonly list?: string;
  readonly required?: boolean;
  /** A code in two groups of four. */
  readonly isCode?: boolean;
  /** Whether a pasted text is all that the form waits for. */
  readonly submitsPasted?: (text: string) => boolean;
  /** The id of an element that says more about the field. */
  readonly describedBy?: string | undefined;
}

/** Text such as a name or a URL. */
export function TextField(props: FieldProps & Kind) {
  const { label, hint, value, error, errorId, takesFocus = false, isCode = false, ...more } = props;
  const { submitsPasted, describedBy, ...attributes } = more;
  const ownErrorId = `${props.id}-error`;
  const describedByAll = [error && (errorId ?? ownErrorId), hint && `${props.id}-hint`, describedBy];
  return (
    <Labelled id={props.id} label={label} hint={hint}>
      <input
        ref={useFocus<HTMLInputElement>(error || takesFocus)}
        name={props.id}
        type="text"
        required
        spellcheck={false}
        class={isCode ? 'code' : ''}
        // Nothing that could be taken for a value.
        placeholder={isCode ? '____-____' : ''}
        inputMode="text"
        autoComplete="off"
        autoCapitalize={isCode ? 'characters' : 'none'}
        {...attributes}
        value={value.value}
        // Browsers offer only what matches the value, so typing replaces it.
        onFocus={({ currentTarget }) => attributes.list && currentTarget.select()}
        onInput={(event) => {
          const { value: text, form } = event.currentTarget;
          value.value = text;
          if (event.inputType === 'insertFromPaste' && submitsPasted?.(text)) form?.requestSubmit();
        }}
        aria-invalid={error !== ''}
        aria-describedby={describedByAll.filter(Boolean).join(' ') || undefined}
      />
      {errorId === undefined ? <ErrorMessage id={ownErrorId} text={error} /> : null}
    </Labelled>
  );
}
