import type { ComponentChildren } from 'preact';

/** What went wrong; read out at once. Stays in the page while empty, so that a change is noticed. */
export function ErrorMessage({ text, id = 'error' }: { text: string; id?: string }) {
  return (
    <p id={id} class="message error" role="alert">
      {text}
    </p>
  );
}

/** How things stand; read out when the reader pauses. */
export function StatusMessage({ children, id = 'status' }: { children?: ComponentChildren; id?: string }) {
  return (
    <p id={id} class="message status" role="status">
      {children}
    </p>
  );
}
