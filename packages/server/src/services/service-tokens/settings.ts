import { type Rules, sharedLimit } from '../../platform/rate-limits/rules.ts';

export const serviceTokenLimits = {
  service_tokens: sharedLimit(1200, 60, 'Tokens of services that act for no user, by service.'),
} satisfies Rules;
