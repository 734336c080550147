import type { Database, Executor } from './executor.ts';
import { LocalNotifications } from './notifications.ts';

/**
 * A database whose work all joins one open transaction, so that several use cases take effect together or not at all.
 * The caller that opened the transaction ends it.
 */
export const databaseWithin = (tx: Executor): Database => ({
  dialect: tx.dialect,
  read: tx,
  single: tx,
  transaction: (work) => work(tx),
  notifications: new LocalNotifications(),
  close: async () => undefined,
});
