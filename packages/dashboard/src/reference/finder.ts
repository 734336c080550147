import { type SearchEntry, search } from './search.ts';

/** The search: opens with its button or `/`, looks through the index in the page, works with the arrow keys. */
export function startFinder(): void {
  const button = document.querySelector<HTMLButtonElement>('button.search');
  const template = document.querySelector<HTMLTemplateElement>('#finder');
  const dialog = template?.content.querySelector('dialog');
  const input = dialog?.querySelector('input');
  const list = dialog?.querySelector('ul');
  const status = dialog?.querySelector('p');
  if (!(button && dialog && input && list && status)) return;

  const entries = readIndex();

  const show = (): void => {
    const found = search(entries, input.value);
    list.replaceChildren(...found.map(resultOf));
    list.scrollTop = 0;
    status.textContent = input.value.trim() === '' ? '' : summaryOf(found.length);
  };
  const open = (): void => {
    if (dialog.open) return;
    // In the page only while it is open, as a closed one has nothing to announce.
    document.body.append(dialog);
    dialog.showModal();
    input.select();
    show();
  };

  button.hidden = false;
  button.addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    event.preventDefault();
    open();
  });
  dialog.addEventListener('close', () => dialog.remove());
  input.addEventListener('input', show);
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog || isControl(event.target)) dialog.close();
  });
  dialog.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // In a search field some browsers only clear the text.
    if (event.key === 'Escape') dialog.close();
    else if (event.key === 'Enter' && event.target === input) {
      event.preventDefault();
      links[0]?.click();
    } else if (step !== undefined) {
      event.preventDefault();
      const focused = document.activeElement instanceof HTMLElement ? document.activeElement : null;
      const stops: (HTMLElement | null)[] = [input, ...links];
      const at = stops.indexOf(focused);
      stops[Math.min(Math.max(at + step, 0), stops.length - 1)]?.focus();
    }
  });
}

/** What the service has written into the page. */
const readIndex = (): readonly SearchEntry[] =>
  JSON.parse(document.getElementById('search-index')?.textContent ?? '[]');

const summaryOf = (count: number): string =>
  count === 0 ? 'Nothing found.' : `${count} ${count === 1 ? 'result' : 'results'}`;

function resultOf({ title, within, text, url }: SearchEntry): HTMLLIElement {
  const link = document.createElement('a');
  link.href = url;
  link.append(part('strong', title), part('small', within), part('span', text));
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function part(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement && target.type !== 'radio';

/** A result or the button that closes. */
const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button') !== null;
