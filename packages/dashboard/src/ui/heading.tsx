import type { ComponentChildren } from 'preact';
import { useFocus } from './focus.ts';

interface HeadingProps {
  readonly children: ComponentChildren;
  readonly takesFocus?: boolean;
}

/**
 * The heading of a step. With `takesFocus`, a screen reader announces it when the step appears, since the button that
 * led there is gone. Give each step its own `key`.
 */
export const Heading = ({ children, takesFocus = false }: HeadingProps) => (
  <h1 ref={useFocus<HTMLHeadingElement>(takesFocus)} tabIndex={-1}>
    {children}
  </h1>
);
