import { type ComponentType, options, render, type VNode } from 'preact';
import { LoadingMessage } from './loading.tsx';

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

/** A node as Preact creates it. `type` is null for a text, which is then all of `props`. */
interface NewNode {
  type: VNode['type'] | null;
  props: unknown;
}

const isText = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/**
 * Makes each text the content of an element, instead of a text node that Preact keeps. A browser that translates a page replaces
 * text nodes: what Preact then wrote into its own would be seen by nobody, and inserting something before one would fail. Space
 * between elements is left alone.
 */
function renderTextsAsElements(): void {
  const next = options.vnode;
  options.vnode = (vnode) => {
    const node: NewNode = vnode;
    if (node.type === null && isText(node.props) && /\S/.test(String(node.props))) {
      node.props = { textContent: node.props };
      node.type = 'span';
    } else if (typeof node.type === 'string') {
      const { children, ...props } = vnode.props;
      if (isText(children)) node.props = { ...props, textContent: children };
    }
    next?.(vnode);
  };
}
