import { audiences, seconds } from '../platform/config/formats.ts';
import { setting } from '../platform/config/settings.ts';

export const trustSettings = {
  feedWaitSeconds: setting(
    'LATCHKEY_FEED_WAIT',
    seconds(0, 20),
    1,
    'How long a request of the feed waits for the next event. With more than 2 seconds, verifiers of the SDK introspect every token.',
  ),
  identityAudiences: setting(
    'LATCHKEY_IDENTITY_AUDIENCES',
    audiences,
    '',
    'Systems that accept identity tokens of runs, as they expect it in `aud`.',
  ),
};
