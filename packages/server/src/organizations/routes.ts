import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { listOrganizations } from './organizations.ts';

export function organizationRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.listOrganizations, async ({ login, query }) => ({
    body: await listOrganizations(ctx, login.userId, query),
  }));
}
