import { signal } from '@preact/signals';
import { Icon } from '../ui/icon.tsx';
import {
  activityIcon,
  browserIcon,
  keyIcon,
  organizationIcon,
  profileIcon,
  securityIcon,
} from '../ui/icons.ts';
import { focusHeading } from './section.tsx';

/** The sections by their address, such as `/account#sessions`, with the id of their heading. */
const sections = [
  { address: 'profile', id: 'profile', title: 'Profile', icon: profileIcon },
  { address: 'security', id: 'security', title: 'Security', icon: securityIcon },
  { address: 'sessions', id: 'sessions', title: 'Sessions', icon: browserIcon },
  { address: 'keys', id: 'keys', title: 'Keys', icon: keyIcon },
  { address: 'organizations', id: 'organizations', title: 'Organizations', icon: organizationIcon },
  { address: 'activity', id: 'events', title: 'Activity', icon: activityIcon },
] as const;

const current = signal(location.hash.slice(1));

/** Whether the person has come to a section, so that nothing moves the page under them any more. */
let isReading = false;

/** Shows the section of the page's address. The keyboard and a screen reader continue there, too. */
export function goToSection(): void {
  current.value = location.hash.slice(1);
  const section = sections.find(({ address }) => address === current.value);
  if (section === undefined || isReading) return;
  focusHeading(section.id);
  document.getElementById(`${section.id}-heading`)?.closest('section')?.scrollIntoView();
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

/** Links to the sections, each with an address of its own. */
export const Navigation = () => (
  <nav class="sections" aria-label="Account">
    <ul class="plain-list">
      {sections.map(({ address, title, icon }) => (
        <li key={address}>
          <a href={`#${address}`} {...(current.value === address ? { 'aria-current': 'location' } : {})}>
            <Icon path={icon} />
            {title}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);
