import { type ComponentType, render } from 'preact';
import { LoadingMessage } from './loading.tsx';
import { renderTextsAsElements } from './text-elements.ts';

/**
 * Renders a page in place of the no-script fallback.
 * @param isLoading for a page that announces while it loads
 */
export function mount(Page: ComponentType, isLoading?: () => boolean): void {
  const root = document.querySelector('main');
  if (root === null) throw new Error('the page has no main element');
  root.replaceChildren();
  renderTextsAsElements();
  render(
    <>
      {isLoading && <LoadingMessage isLoading={isLoading} />}
      <Page />
    </>,
    root,
  );
}

/** Whether something was typed since the last single click. */
let hasTyped = false;
document.addEventListener(
  'input',
  () => {
    hasTyped = true;
  },
  { capture: true },
);

// Ignore the second click of a double click: it would hit whatever the first click put under the pointer. After typing,
// the next click is meant.
document.addEventListener(
  'click',
  (event) => {
    if (event.detail < 2 || hasTyped) {
      hasTyped = false;
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  },
  { capture: true },
);
