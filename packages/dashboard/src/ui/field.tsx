import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: Signal<string>;
  /** The error message about this field, or empty. Moves focus here and links the message for assistive technology. */
  readonly error: string;
  /** The id of the element that shows the message. */
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
  props: Omit<FieldProps, 'maxLength'> & { autoComplete: 'email' | 'username webauthn' },
) => <TextField {...props} inputMode="email" maxLength={4 * fieldLimits.emailAddress} />;

interface SelectFieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: Signal<string>;
  readonly options: readonly { readonly value: string; readonly text: string }[];
}

/** A menu of values to choose from. */
export const SelectField = ({ id, label, hint, value, options }: SelectFieldProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <Hint id={id} text={hint} />
    <select
      id={id}
      name={id}
      value={value.value}
      onChange={(event) => {
        value.value = event.currentTarget.value;
      }}
      {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} selected={option.value === value.value}>
          {option.text}
        </option>
      ))}
    </select>
  </div>
);

const Hint = ({ id, text }: { id: string; text: string | undefined }) =>
  text === undefined ? null : (
    <p class="hint" id={`${id}-hint`}>
      {text}
    </p>
  );

/** The code of a device; case, spaces and hyphens don't matter. */
export const UserCodeField = (props: Omit<FieldProps, 'maxLength'>) => (
  <TextField {...props} example="BCDF-GHJK" maxLength={fieldLimits.userCode} />
);

/** The code from an email; spaces and hyphens don't matter. */
export const EmailCodeField = (props: Omit<FieldProps, 'label' | 'maxLength'>) => (
  <TextField
    {...props}
    label={texts.common.emailCode}
    inputMode="numeric"
    autoComplete="one-time-code"
    example="1234-5678"
    maxLength={fieldLimits.emailCode}
  />
);

interface Kind {
  readonly inputMode?: 'email' | 'numeric' | 'text';
  readonly autoComplete?: string;
  /** Makes it a field for a code. */
  readonly example?: string;
}

/** Text such as a name or a URL. */
export function TextField({
  id,
  label,
  hint,
  value,
  error,
  errorId = 'error',
  takesFocus = false,
  maxLength,
  inputMode = 'text',
  autoComplete = 'off',
  example,
}: FieldProps & Kind) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (takesFocus || error !== '') input.current?.focus();
  }, [takesFocus, error]);
  const describedBy = [error === '' ? '' : errorId, hint === undefined ? '' : `${id}-hint`]
    .filter(Boolean)
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint id={id} text={hint} />
      <input
        ref={input}
        id={id}
        name={id}
        type="text"
        required
        spellcheck={false}
        class={example === undefined ? '' : 'code'}
        placeholder={example ?? ''}
        inputMode={inputMode}
        autoComplete={autoComplete}
        autoCapitalize={example === undefined ? 'none' : 'characters'}
        maxLength={maxLength}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
        aria-invalid={error !== ''}
        {...(describedBy === '' ? {} : { 'aria-describedby': describedBy })}
      />
    </div>
  );
}
