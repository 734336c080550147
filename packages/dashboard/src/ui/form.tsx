import type { ComponentChildren } from 'preact';

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
