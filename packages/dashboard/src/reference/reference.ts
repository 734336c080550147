// The script of the API reference. Without it the pages can be read; it adds copying and small comforts.

import { addCopyButtons, rememberLanguage } from './code.ts';

/** Opens the lists that the target of the address is in. */
function showTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let list = target.closest('details'); list; list = list.parentElement?.closest('details') ?? null)
    list.open = true;
  target.scrollIntoView();
}

/** Marks the section in view in the navigation. */
function followSections(navigation: HTMLElement): void {
  const links = new Map(
    [...navigation.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')].map((link) => [
      link.hash.slice(1),
      link,
    ]),
  );
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = links.get(target.id);
        if (isIntersecting) {
          link?.setAttribute('aria-current', 'location');
          link?.scrollIntoView({ block: 'nearest' });
        } else link?.removeAttribute('aria-current');
      }
    },
    // A line below the header.
    { rootMargin: '-20% 0px -79% 0px' },
  );
  for (const section of document.querySelectorAll('main section')) observer.observe(section);
}

addCopyButtons();
rememberLanguage();
showTarget();
addEventListener('hashchange', showTarget);

const navigation = document.getElementById('contents');
if (navigation) {
  followSections(navigation);
  // On a phone it covers the page.
  navigation.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a') && navigation.matches(':popover-open'))
      navigation.hidePopover();
  });
}
