import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { cautionIcon } from './icons.ts';

/** Asks before something that cannot be undone. Takes the focus, since the button that opened it is gone. */
export function Question({ children }: { children: ComponentChildren }) {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <p ref={question} tabIndex={-1} class="warning">
      <Icon path={cautionIcon} />
      <span>{children}</span>
    </p>
  );
}
