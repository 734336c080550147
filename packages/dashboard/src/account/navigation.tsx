import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { home } from '../next.ts';
import { texts } from '../texts.ts';
import { Icon } from '../ui/icon.tsx';
import {
  activityIcon,
  browserIcon,
  cautionIcon,
  keyIcon,
  organizationIcon,
  profileIcon,
  securityIcon,
} from '../ui/icons.ts';
import { focusHeading } from './section.tsx';

/** The sections by their address, such as `/account#sessions`, with the id of their heading. */
const sections = [
  { address: 'profile', id: 'profile', icon: profileIcon },
  { address: 'security', id: 'security', icon: securityIcon },
  { address: 'sessions', id: 'sessions', icon: browserIcon },
  { address: 'keys', id: 'keys', icon: keyIcon },
  { address: 'organizations', id: 'organizations', icon: organizationIcon },
  { address: 'activity', id: 'events', icon: activityIcon },
  { address: 'danger', id: 'danger', icon: cautionIcon },
] as const;

/** The address of the section that the person is at. */
const current = signal<string>(sections[0].address);

const elementOf = (id: string) => document.getElementById(`${id}-heading`)?.closest('section');

/** Whether the person has come to a section, so that nothing moves the page from then on. */
let isReading = false;

/** Shows the section of the page's address. The keyboard and a screen reader continue there, too. */
export function goToSection(): void {
  const section = sections.find(({ address }) => address === location.hash.slice(1));
  if (section === undefined || isReading) return;
  current.value = section.address;
  focusHeading(section.id);
  elementOf(section.id)?.scrollIntoView();
}

window.addEventListener('hashchange', () => {
  isReading = false;
  goToSection();
});
for (const event of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
  window.addEventListener(
    event,
    () => {
      isReading = true;
    },
    { passive: true },
  );

// A jump to a section has marked it, however far down it can be scrolled.
window.addEventListener(
  'scroll',
  () => {
    if (!isReading) return;
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
    const begun = sections.filter(
      ({ id }) => isAtEnd || (elementOf(id)?.getBoundingClientRect().top ?? innerHeight) < innerHeight / 3,
    );
    current.value = (begun.at(-1) ?? sections[0]).address;
  },
  { passive: true },
);

/** Links to the sections, each with an address of its own. On a phone they are a row that is wider than the page. */
export function Navigation() {
  const marked = useRef<HTMLAnchorElement>(null);
  const at = current.value;
  useLayoutEffect(() => {
    const link = marked.current;
    // `scrollIntoView` would scroll the page, too.
    if (at && link) link.closest('ul')?.scrollTo({ left: link.offsetLeft - link.offsetWidth });
  }, [at]);
  return (
    <nav class="sections" aria-label={texts.account.sections.label}>
      <ul class="plain-list">
        {sections.map(({ address, icon }) => (
          <li key={address}>
            <a
              // A fragment alone, out of sight, is a skip link, whose target would have to be there.
              href={`${home}#${address}`}
              ref={address === at ? marked : null}
              aria-current={address === at ? 'location' : undefined}
            >
              <Icon path={icon} />
              {address === 'danger' ? texts.account.danger.heading : texts.account.sections[address]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
