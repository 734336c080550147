// The script of the API reference, which can be read without it: it copies examples and closes the menu of a phone.

const copiedMs = 2000;

/** A button beside each example that copies it, where the browser allows that. */
for (const figure of navigator.clipboard ? document.querySelectorAll('figure') : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(figure.querySelector('code')?.textContent ?? '');
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, copiedMs);
  });
  figure.querySelector('figcaption')?.append(button);
}

const menu = document.getElementById('contents');
menu?.addEventListener('click', ({ target }) => {
  if (target instanceof HTMLAnchorElement && menu.matches(':popover-open')) menu.hidePopover();
});
