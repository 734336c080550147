import { type ComponentType, render } from 'preact';

/** Puts a page in place of the notices for where no script runs. */
export function mount(Page: ComponentType): void {
  const root = document.querySelector('main');
  if (root === null) throw new Error('the page has no main element');
  root.replaceChildren();
  render(<Page />, root);
}

// The second click of a double click is not meant for whatever the first one has put under the pointer.
document.addEventListener(
  'click',
  (event) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  },
  { capture: true },
);
