// Services, organizations and their members, as the operator registers them.

import type { Member, OrganizationRole } from '@latchkey/contract/organizations';
import {
  putOrganization,
  setMember,
} from '../../packages/server/src/identity/organizations/organizations.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { emptyRegistration, type Registration } from '../../packages/server/src/services/registration.ts';
import { createService, setService } from '../../packages/server/src/services/service-keys.ts';
import { until } from './until.ts';

export type TestService = Awaited<ReturnType<typeof declareService>>;

/** The header that authenticates a service with this key. */
export const basic = (key: string): string => `Basic ${Buffer.from(key).toString('base64')}`;

/** Registers a service, with what it declares and may do: by default nothing. The secret of a public client is empty. */
export async function declareService(
  ctx: Context,
  { name = 'Tickets', ...registration }: Partial<Registration & { name: string }> = {},
) {
  const registered = { ...emptyRegistration, ...registration };
  const { id, secret = '' } = await createService(ctx, name, registered);
  const key = `${id}:${secret}`;
  // `key` is what the SDK takes, `authorization` the header with it.
  return { id, secret, key, authorization: basic(key) };
}

/** What the service of the tickets declares. */
export const ticketsDeclared = {
  resource: 'https://tickets.example/api',
  scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
};

/** Replaces what a service declares and may do, as `services set` does. */
export const changeService = (ctx: Context, id: string, changes: Partial<Registration>): Promise<void> =>
  setService(ctx, id, changes);

/** Resolves once the first use of a service key is recorded, which nothing waits for: it is one more statement. */
export const untilServiceUsed = ({ ctx: { db } }: { readonly ctx: Context }, id: string): Promise<void> =>
  until(async () => {
    const used = `SELECT id FROM service_keys WHERE id = '${id}' AND last_used_at IS NOT NULL`;
    return (await db.read.run(used, [])).length > 0;
  }, 'the use of the service key to be recorded');

export async function createOrganization(ctx: Context, slug: string, name: string): Promise<string> {
  return (await putOrganization(ctx, slug, name, { create: true, rename: false })).organization.id;
}

export const addMember = (
  ctx: Context,
  slug: string,
  userId: string,
  role: OrganizationRole,
): Promise<Member> => setMember(ctx, slug, userId, role, { by: 'operator' });
