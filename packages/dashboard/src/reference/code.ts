/** Where this browser keeps the language of the examples. */
const languageKey = 'latchkey-reference-language';
const copiedMilliseconds = 2000;

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
  }, copiedMilliseconds);
}

/** Choosing a language in one example chooses it in all, and on the next page. */
export function rememberLanguage(): void {
  const radios = [...document.querySelectorAll<HTMLInputElement>('input[name$="-request"]')];
  const choose = (language: string): void => {
    for (const radio of radios) if (radio.value === language) radio.checked = true;
  };
  const stored = readLanguage();
  if (stored !== null) choose(stored);
  for (const radio of radios) {
    radio.addEventListener('change', () => {
      const top = radio.getBoundingClientRect().top;
      choose(radio.value);
      // Examples above may have changed their height.
      scrollBy(0, radio.getBoundingClientRect().top - top);
      writeLanguage(radio.value);
    });
  }
}

/** Storage is missing or full in some browsers: then the choice lasts as long as the page. */
function readLanguage(): string | null {
  try {
    return localStorage.getItem(languageKey);
  } catch {
    return null;
  }
}

function writeLanguage(language: string): void {
  try {
    localStorage.setItem(languageKey, language);
  } catch {
    // As above.
  }
}
