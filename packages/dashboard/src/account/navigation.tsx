import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { home } from '../next.ts';
import { texts } from '../texts.ts';
import { Icon } from '../ui/elements.tsx';
import * as icons from '../ui/icons.ts';
import { focusHeading } from './section.tsx';

/** The sections by their address, such as `/account#sessions`. */
const sectionIcons = {
  profile: icons.profileIcon,
  security: icons.securityIcon,
  sessions: icons.browserIcon,
  keys: icons.keyIcon,
  organizations: icons.organizationIcon,
  activity: icons.activityIcon,
  danger: icons.cautionIcon,
};
type Address = keyof typeof sectionIcons;
const addresses = Object.keys(sectionIcons) as Address[];

/** The address of the section that the person is at. */
const current = signal<Address>('profile');

const headingIdOf = (address: Address) => (address === 'activity' ? 'events' : address);
const elementOf = (address: Address) =>
  document.getElementById(`${headingIdOf(address)}-heading`)?.closest('section');

/** Whether the person has come to a section, so that nothing moves the page from then on. */
let isReading = false;

/** Shows the section of the page's address. The keyboard and a screen reader continue there, too. */
export function goToSection(): void {
  const address = addresses.find((one) => one === location.hash.slice(1));
  if (address === undefined || isReading) return;
  current.value = address;
  focusHeading(headingIdOf(address));
  elementOf(address)?.scrollIntoView();
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
    const begun = addresses.findLast(
      (one) => isAtEnd || (elementOf(one)?.getBoundingClientRect().top ?? innerHeight) < innerHeight / 3,
    );
    current.value = begun ?? 'profile';
  },
  { passive: true },
);

/** Links to the sections, each with an address of its own. On a phone they are a row that is wider than the page. */
export function Navigation() {
  const marked = useRef<HTMLAnchorElement>(null);
  const at = current.value;
  useLayoutEffect(() => {
    const link = marked.current;
    const row = link?.closest('ul');
    // What the person points at or has focused stays in its place.
    if (!at || !link || !row || row.matches(':hover, :focus-within')) return;
    // `scrollIntoView` would scroll the page, too.
    row.scrollTo({ left: link.offsetLeft - link.offsetWidth });
  }, [at]);
  return (
    <nav class="sections" aria-label={texts.account.sections.label}>
      <ul class="plain-list">
        {addresses.map((address) => (
          <li key={address}>
            <a
              // A fragment alone, out of sight, is a skip link, whose target would have to be there.
              href={`${home}#${address}`}
              ref={address === at ? marked : null}
              aria-current={address === at ? 'location' : undefined}
            >
              <Icon path={sectionIcons[address]} />
              {address === 'danger' ? texts.account.danger.heading : texts.account.sections[address]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
