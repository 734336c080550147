import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: Signal<string>;
  /** The page's message is about this field: it takes the focus and says so to assistive software. */
  readonly error: string;
  /** Where that message is. */
  readonly errorId?: string;
  readonly takesFocus?: boolean;
  readonly isOptional?: boolean;
  readonly maxLength: number;
}

/**
 * A mail address. Not `type="email"`: some browsers then hand over another spelling of the address than the one
 * typed, and one person would end up with two accounts. One that is too long goes to the service, which refuses it:
 * without its end it would be somebody else's.
 */
export const EmailField = ({
  autoComplete,
  ...props
}: Omit<FieldProps, 'maxLength'> & { autoComplete: 'email' | 'username webauthn' }) => (
  <Field
    {...props}
    inputMode="email"
    autoComplete={autoComplete}
    class="address"
    placeholder=""
    maxLength={4 * fieldLimits.emailAddress}
  />
);

/** What a person calls a thing of theirs. */
export const NameField = (props: FieldProps) => (
  <Field {...props} inputMode="text" autoComplete="off" class="name" placeholder="" />
);

/** Text that is for programs: an address, a tag. */
export const PlainField = ({ list = '', ...props }: FieldProps & { list?: string }) => (
  <Field
    {...props}
    inputMode="text"
    autoComplete="off"
    class="plain-text"
    placeholder=""
    {...(list === '' ? {} : { list })}
  />
);

/** A code from a mail or a terminal, typed as freely as people type. */
export const CodeField = ({
  autoComplete,
  ...props
}: FieldProps & { autoComplete: 'one-time-code' | 'off' }) => (
  <Field {...props} inputMode="text" autoComplete={autoComplete} class="code" placeholder="BCDF-GHJK" />
);

interface Kind {
  readonly inputMode: 'email' | 'text';
  readonly autoComplete: string;
  readonly class: string;
  readonly placeholder: string;
  /** The id of a list of suggestions. */
  readonly list?: string;
}

function Field({
  id,
  label,
  hint,
  value,
  error,
  errorId = 'error',
  takesFocus = false,
  isOptional = false,
  maxLength,
  ...kind
}: FieldProps & Kind) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (takesFocus || error !== '') input.current?.focus();
  }, [takesFocus, error]);
  const describedBy = [error === '' ? '' : errorId, hint === undefined ? '' : `${id}-hint`]
    .filter(Boolean)
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <input
        ref={input}
        id={id}
        name={id}
        type="text"
        required={!isOptional}
        spellcheck={false}
        autoCapitalize={kind.class === 'code' ? 'characters' : 'none'}
        maxLength={maxLength}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
        aria-invalid={error !== ''}
        {...(describedBy === '' ? {} : { 'aria-describedby': describedBy })}
        {...kind}
      />
    </div>
  );
}
