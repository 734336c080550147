import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const authorizeLimits = {
  authorizations: sharedLimit(300, 60, 'Approved authorization requests, by account.'),
} satisfies Rules;
