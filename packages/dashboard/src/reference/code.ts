import { noteIn } from '../tab-note.ts';

/** The language of the examples. Without storage, the choice lasts as long as the page. */
const languageNote = noteIn(() => localStorage, 'latchkey-reference-language');
const copiedMs = 2000;

/** A button beside each block of code that copies it, where the browser allows that. */
export function addCopyButtons(): void {
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(button, block.querySelector('code')?.textContent ?? ''));
    block.querySelector('figcaption')?.append(button);
  }
}

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  const done = await navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'Not copied',
  );
  button.textContent = done;
  setTimeout(() => {
    button.textContent = 'Copy';
  }, copiedMs);
}

/** Choosing a language in one example chooses it in all, and on the next page. */
export function rememberLanguage(): void {
  const radios = [...document.querySelectorAll<HTMLInputElement>('input[name$="-request"]')];
  const choose = (language: string): void => {
    for (const radio of radios) if (radio.value === language) radio.checked = true;
  };
  const stored = languageNote.read();
  if (stored !== null) choose(stored);
  for (const radio of radios) {
    radio.addEventListener('change', () => {
      const top = radio.getBoundingClientRect().top;
      choose(radio.value);
      // Examples above may have changed their height.
      scrollBy(0, radio.getBoundingClientRect().top - top);
      languageNote.leave(radio.value);
    });
  }
}
