import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import type { ComponentChildren } from 'preact';
import { fillParts } from '../texts.ts';
import { useFocus } from './focus.ts';
import { Choice, type ChoiceProps } from './form.tsx';
import { Icon } from './icon.tsx';
import { cautionIcon } from './icons.ts';

/** Asks before something that cannot be undone. Takes the focus at once, since the button that opened it is gone. */
export const Question = ({ children }: { children: ComponentChildren }) => (
  <p ref={useFocus<HTMLParagraphElement>()} tabIndex={-1} class="warning">
    <Icon path={cautionIcon} />
    <span>{children}</span>
  </p>
);

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
