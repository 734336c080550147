import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { revokeKey } from '../ending.ts';
import { limitingChanges } from '../sessions.ts';
import type { Touches } from '../touches.ts';
import { challengeKey, createKey, listKeys } from './keys.ts';

export function accessKeyRoutes(api: Api, ctx: Context, touches: Touches): void {
  api.answer(endpoints.challengeKey, (call) => challengeKey(ctx, touches, call));

  api.on(endpoints.createKey, (call) =>
    limitingChanges(ctx, call, () => createKey(ctx, touches, call, call.body)),
  );

  api.answer(endpoints.listKeys, ({ caller, query }) => listKeys(ctx, caller, query));

  api.on(endpoints.removeKey, (call) =>
    limitingChanges(ctx, call, () => revokeKey(ctx, call.caller, call.params.id, call.client)),
  );
}
