// What `latchkey` and `latchkey-server` call a session in their lists.

import { browserName } from './browser-name.ts';
import type { Session } from './sessions.ts';

/** The browser and its system, or the names that the program and the device gave themselves. */
export function sessionName(session: Omit<Session, 'current'>): string {
  const { kind, user_agent, client_name, device_name, scope, within } = session;
  if (kind === 'browser') return browserName(user_agent ?? '') ?? kind;
  if (kind === 'app') return `application ${client_name ?? ''}`;
  if (kind !== 'run') {
    return [client_name, device_name].filter((name) => name !== null).join(' on ') || kind;
  }
  const [parent] = within ?? [];
  const service = client_name === null ? '' : ` by ${client_name}`;
  const key = parent?.startsWith('key_') ? ` within ${parent}` : '';
  return `run${service}${key}: ${scope}`;
}

/** In the words of the account page. A later service may have further methods. */
const methods: Partial<Record<Session['method'], string>> = {
  device_code: 'browser approval',
  browser_code: 'browser approval',
  magic_link: 'email link',
  email_code: 'email code',
  token_exchange: '-',
};

export const sessionMethod = (method: Session['method']): string =>
  methods[method] ?? method.replaceAll('_', ' ');
