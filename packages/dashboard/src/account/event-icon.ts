import type { Event } from '@latchkey/contract/events';
import {
  browserIcon,
  emailIcon,
  keyIcon,
  organizationIcon,
  passkeyIcon,
  profileIcon,
  securityIcon,
  signOutIcon,
  suspiciousIcon,
  terminalIcon,
} from '../ui/icons.ts';
import { isSuspicious } from './event-text.ts';

/** By the start of the type. */
const icons: readonly (readonly [string, string])[] = [
  ['login', browserIcon],
  ['device', terminalIcon],
  ['passkey', passkeyIcon],
  ['key', keyIcon],
  ['session_', signOutIcon],
  ['all_sessions', signOutIcon],
  ['profile', profileIcon],
  ['account_created', profileIcon],
  ['email', emailIcon],
  ['membership', organizationIcon],
];

/** What an event is about, as an icon. */
export function eventIcon(event: Event): string {
  if (isSuspicious(event)) return suspiciousIcon;
  if (event.type === 'login' && event.detail['kind'] === 'device') return terminalIcon;
  return icons.find(([start]) => event.type.startsWith(start))?.[1] ?? securityIcon;
}
