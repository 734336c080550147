import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { listOrganizations } from './organizations.ts';

export function organizationRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.listOrganizations, async ({ caller, query }) => ({
    body: await listOrganizations(ctx, caller.userId, query),
  }));
}
