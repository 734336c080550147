import type { AccessEnding } from '../../services/service-keys/service-keys.ts';
import { endSessionsWithAccess, listAccessHolders } from '../../sessions/ending.ts';
import { listCodeHolders, spendCodesWithAccess } from '../../sign-in/authorize/authorize.ts';
import { denyAccess, listAccessApprovers } from '../../sign-in/device/device.ts';

/** What ends when a scope or resource gets another service: sessions, keys, authorization codes and device authorizations that hold it. */
export const takenOver: AccessEnding = {
  listHolders: async (ctx, tx, access, limit) => {
    const holders = await listAccessHolders(ctx, tx, access, limit);
    const approvers = await listAccessApprovers(ctx, tx, access, limit);
    const codes = await listCodeHolders(ctx, tx, access, limit);
    const userIds = [...holders, ...approvers, ...codes].map(({ user_id }) => user_id);
    return [...new Set(userIds)].toSorted().slice(0, limit);
  },
  endAccess: async (ctx, tx, access, userIds) => {
    await spendCodesWithAccess(ctx, tx, access, userIds);
    await denyAccess(ctx, tx, access, userIds);
    await endSessionsWithAccess(ctx, tx, access, userIds);
  },
};
