import { endpoints } from '@latchkey/contract/endpoints';
import { introspectionJwtType } from '@latchkey/contract/services';
import type { Context } from '../../platform/context.ts';
import type { Call } from '../../platform/http/call.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { prefers } from '../../platform/values/accept.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { introspect, signIntrospection } from './introspection.ts';

type Introspect = Pick<Call<typeof endpoints.introspect>, 'body' | 'service' | 'accept'>;

/** Answers as JSON, or as a signed JWT when the `Accept` header prefers it. */
export function introspectionRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  const answer = async ({ body, service, accept }: Introspect) => {
    const response = await introspect(ctx, service, body.token);
    const detail = response.active ? response.token_use : ('inactive' as const);
    if (!prefers(accept, introspectionJwtType)) return { body: response, detail };
    const text = await signIntrospection(ctx, keys, service, response);
    return { signed: { type: introspectionJwtType, text }, detail };
  };
  api.on(endpoints.introspect, answer, answer);
}
