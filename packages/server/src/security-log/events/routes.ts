import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { listEvents } from './reading.ts';

export function eventRoutes(api: Api, ctx: Context): void {
  api.answer(endpoints.listEvents, ({ caller, query }) => listEvents(ctx, caller, query));
}
