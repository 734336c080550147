import type { AccessEnding } from '../../services/service-keys/service-keys.ts';
import { endSessionsWithAccess, listAccessHolders } from '../../sessions/sessions.ts';
import { denyAccess, listAccessApprovers } from '../../sign-in/device/device.ts';

/** What ends when a scope or resource gets another service: sessions, keys and device authorizations that hold it. */
export const takenOver: AccessEnding = {
  listHolders: async (ctx, tx, access, limit) => {
    const holders = await listAccessHolders(ctx, tx, access, limit);
    const approvers = await listAccessApprovers(ctx, tx, access, limit);
    return [...new Set([...holders, ...approvers])].toSorted().slice(0, limit);
  },
  endAccess: async (ctx, tx, access, userIds) => {
    await denyAccess(ctx, tx, access, userIds);
    await endSessionsWithAccess(ctx, tx, access, userIds);
  },
};
