import type { ComponentChildren } from 'preact';

/** An error, announced immediately. Stays mounted while empty, as live regions must. */
export function ErrorMessage({ text, id = 'error' }: { text: string; id?: string }) {
  return (
    <p id={id} class="message error" role="alert">
      {text}
    </p>
  );
}

/** A status, announced when the screen reader pauses. `isCaution` styles it as a warning. */
export function StatusMessage({
  children,
  id = 'status',
  isCaution = false,
}: {
  children?: ComponentChildren;
  id?: string;
  isCaution?: boolean;
}) {
  return (
    <p id={id} class={`message ${isCaution ? 'warning' : 'status'}`} role="status">
      {children}
    </p>
  );
}
