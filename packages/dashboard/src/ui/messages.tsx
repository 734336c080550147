import type { ComponentChildren } from 'preact';

/** What went wrong; read out at once. Stays in the page while empty, so that a change is noticed. */
export function ErrorMessage({ text }: { text: string }) {
  return (
    <p id="error" class="message error" role="alert">
      {text}
    </p>
  );
}

/** How things stand; read out when the reader pauses. */
export function StatusMessage({ children }: { children?: ComponentChildren }) {
  return (
    <p id="status" class="message status" role="status">
      {children}
    </p>
  );
}
