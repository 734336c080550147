import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { listEvents } from './events.ts';

export function eventRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.listEvents, async ({ login, query }) => ({ body: await listEvents(ctx, login, query) }));
}
