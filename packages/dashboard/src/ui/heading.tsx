import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * The heading of a step. With `takesFocus`, a screen reader announces it when the step appears, since the button that
 * led there is gone. Give each step its own `key`.
 */
export function Heading({
  children,
  takesFocus = false,
}: {
  children: ComponentChildren;
  takesFocus?: boolean;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
