import { seconds } from '../../platform/config/formats.ts';
import { setting } from '../../platform/config/settings.ts';

export const feedSettings = {
  feedWaitSeconds: setting(
    'LATCHKEY_FEED_WAIT',
    seconds(0, 20),
    1,
    'How long a request of the feed waits for the next event. Verifiers of the SDK rely on answers that are at most 2 seconds old: with a longer wait they introspect every token.',
    'no service uses the verifier of the SDK and requests cost too much',
  ),
};
