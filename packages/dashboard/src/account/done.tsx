import { signal } from '@preact/signals';
import { StatusMessage } from '../ui/messages.tsx';

/** What was done last, and the section of the page where it was done. */
const done = signal<{ readonly section: string; readonly text: string } | undefined>(undefined);

/** Says at the top of a section what was done, in place of anything said before. */
export function showDone(section: string, text: string): void {
  done.value = { section, text };
}

export function hideDone(): void {
  done.value = undefined;
}

/** What `showDone` says for this section, in the page, where it covers nothing. */
export const Done = ({ section }: { section: string }) => (
  <StatusMessage id={`${section}-done`}>
    {done.value?.section === section ? done.value.text : null}
  </StatusMessage>
);
