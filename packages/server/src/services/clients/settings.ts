import { clientHosts } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';
import type { Rules } from '../../platform/rate-limits/rules.ts';

export const clientSettings = {
  clientHosts: setting(
    'LATCHKEY_CLIENT_HOSTS',
    clientHosts,
    '',
    'OAuth clients that describe themselves at the URL that is their `client_id`: a host allows all of its documents, a URL only that one.',
  ),
};

export const clientLimits = {
  client_documents: {
    quota: 30,
    windowSeconds: 60,
    shared: true,
    description: 'Metadata documents of clients fetched, by client address.',
  },
} as const satisfies Rules;
