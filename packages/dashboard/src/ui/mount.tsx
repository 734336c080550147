import { type ComponentType, render } from 'preact';

/** Renders a page in place of the no-script fallback. */
export function mount(Page: ComponentType): void {
  const root = document.querySelector('main');
  if (root === null) throw new Error('the page has no main element');
  root.replaceChildren();
  render(<Page />, root);
}

// Ignore the second click of a double click: it would hit whatever the first click put under the pointer.
document.addEventListener(
  'click',
  (event) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  },
  { capture: true },
);
