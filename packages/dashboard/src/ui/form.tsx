import type { ComponentChildren } from 'preact';

/** A form that is sent by a script: Enter works, the browser's own checks and navigation do not get in the way. */
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
