import { type ComponentType, render } from 'preact';

/** Puts a page in place of the notice for browsers without scripts. */
export function mount(Page: ComponentType): void {
  const root = document.querySelector('main');
  if (root === null) throw new Error('the page has no main element');
  root.replaceChildren();
  render(<Page />, root);
}
