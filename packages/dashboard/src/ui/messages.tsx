import type { ComponentChildren } from 'preact';

/** What went wrong; read out at once. Stays in the page while empty, so that a change is noticed. */
export function ErrorMessage({ text, id = 'error' }: { text: string; id?: string }) {
  return (
    <p id={id} class="message error" role="alert">
      {text}
    </p>
  );
}

/** How things stand, well or, with `isCaution`, not so well; read out when the reader pauses. */
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
