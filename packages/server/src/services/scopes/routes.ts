import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { listScopes } from './scopes.ts';

export function scopeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.listScopes, async () => ({ body: await listScopes(ctx.db.read) }));
}
