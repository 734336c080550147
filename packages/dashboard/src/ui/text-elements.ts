import { options, type VNode } from 'preact';

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
export function renderTextsAsElements(): void {
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
