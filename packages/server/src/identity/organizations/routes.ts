import { endpoints } from '@latchkey/contract/endpoints';
import type { CallingService, Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import {
  deleteOrganization,
  findMember,
  listMembers,
  listOrganizations,
  putOrganization,
  removeMember,
  setMember,
} from './organizations.ts';

export function organizationRoutes(api: Api, ctx: Context): void {
  api.answer(endpoints.listOrganizations, ({ caller, query }) =>
    listOrganizations(ctx, caller.userId, query),
  );

  api.on(endpoints.putOrganization, async ({ params, body, ...headers }) => {
    const permitted = permittedBy(headers);
    const { organization, isNew } = await putOrganization(ctx, params.slug, body.name, permitted);
    return isNew ? { body: organization, status: 201 } : { body: organization };
  });

  api.on(endpoints.deleteOrganization, ({ params, service }) =>
    deleteOrganization(ctx, params.slug, by(service)),
  );

  api.on(endpoints.listMembers, async ({ params, query }) => {
    const { members, next_cursor } = await listMembers(ctx, params.slug, query);
    return { body: { members: members.map(({ email: _, ...member }) => member), next_cursor } };
  });

  api.answer(endpoints.getMember, ({ params }) => findMember(ctx, params.slug, params.user_id));

  api.answer(endpoints.putMember, ({ params, body, service }) =>
    setMember(ctx, params.slug, params.user_id, body.role, by(service)),
  );

  api.on(endpoints.removeMember, ({ params, service }) =>
    removeMember(ctx, params.slug, params.user_id, by(service)),
  );
}

const by = ({ id }: CallingService) => ({ by: 'service', service_id: id }) as const;

const isAny = (header: string | null): boolean => header?.trim() === '*';

/** `If-Match` holds only with `*`; `If-None-Match` fails only with `*`. @see RFC 9110 section 13.1 */
const permittedBy = ({ ifMatch, ifNoneMatch }: Record<'ifMatch' | 'ifNoneMatch', string | null>) => ({
  create: ifMatch === null,
  rename: (ifMatch === null || isAny(ifMatch)) && !isAny(ifNoneMatch),
});
