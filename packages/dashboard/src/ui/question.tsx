import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { fillParts } from '../texts.ts';
import { Choice, type ChoiceProps } from './form.tsx';
import { Icon } from './icon.tsx';
import { cautionIcon } from './icons.ts';

/** Asks before something that cannot be undone. Takes the focus at once, since the button that opened it is gone. */
export function Question({ children }: { children: ComponentChildren }) {
  const question = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => question.current?.focus(), []);
  return (
    <p ref={question} tabIndex={-1} class="warning">
      <Icon path={cautionIcon} />
      <span>{children}</span>
    </p>
  );
}

interface RemoveQuestionProps extends Omit<ChoiceProps, 'label'> {
  readonly words: { readonly question: string; readonly remove: string };
  readonly name: string;
}

/** Asks whether to remove what has this name. */
export const RemoveQuestion = ({ words, name, ...choice }: RemoveQuestionProps) => (
  <div class="question">
    <Question>{fillParts(words.question, { name: <bdi>{escapeInvisible(name)}</bdi> })}</Question>
    <Choice {...choice} label={words.remove} />
  </div>
);
