import { declareTickets } from './keys.ts';
import { startService } from './service.ts';

/** One service for all tests of pages and of the command line in a process, which ends it. Each test has accounts of its own. */
export const service = await startService({
  env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1', LATCHKEY_TRUSTED_ISSUERS: 'github' },
});
await declareTickets(service);
