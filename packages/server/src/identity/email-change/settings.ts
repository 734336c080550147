import { nodeLimit, type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const emailChangeLimits = {
  email_changes: sharedLimit(
    10,
    3600,
    'Requested email changes, by account. Their emails also count as requested emails.',
  ),
  link_logins: nodeLimit(
    600,
    60,
    'Links of sign-ins and email changes, by client address. Forged links do not count.',
  ),
} satisfies Rules;
