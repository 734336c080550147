import { signal } from '@preact/signals';
import { texts } from '../texts.ts';
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
  { address: 'profile', id: 'profile', icon: profileIcon },
  { address: 'security', id: 'security', icon: securityIcon },
  { address: 'sessions', id: 'sessions', icon: browserIcon },
  { address: 'keys', id: 'keys', icon: keyIcon },
  { address: 'organizations', id: 'organizations', icon: organizationIcon },
  { address: 'activity', id: 'events', icon: activityIcon },
] as const;

const current = signal(location.hash.slice(1));

/** Whether the person has come to a section, so that nothing moves the page from then on. */
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
  <nav class="sections" aria-label={texts.account.sections.label}>
    <ul class="plain-list">
      {sections.map(({ address, icon }) => (
        <li key={address}>
          <a href={`#${address}`} aria-current={current.value === address ? 'location' : undefined}>
            <Icon path={icon} />
            {texts.account.sections[address]}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);
