import { clientHosts } from '../platform/config/formats.ts';
import { setting } from '../platform/config/settings.ts';
import { type Rules, sharedLimit } from '../platform/rate-limits/limiter.ts';

export const serviceSettings = {
  clientHosts: setting(
    'LATCHKEY_CLIENT_HOSTS',
    clientHosts,
    '',
    'OAuth clients that describe themselves at the URL that is their `client_id`: a host allows all of its documents, a URL only that one.',
  ),
};

export const serviceLimits = {
  client_documents: sharedLimit(30, 60, 'Metadata documents of clients fetched, by client address.'),
  service_tokens: sharedLimit(1200, 60, 'Tokens of services that act for no user, by service.'),
} satisfies Rules;
