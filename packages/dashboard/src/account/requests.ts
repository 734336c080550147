import type { Body } from '@latchkey/client/operations';
import type { Profile, ProfileView } from '@latchkey/contract/account';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { api, call, resultOf } from '../api.ts';

export const getTaggedProfile = () => resultOf(api.callWithHeaders('getProfile').then(tagged));

/** Updates the profile. Fails with `precondition_failed` if it has changed since the version with this ETag. */
export const updateProfile = (body: Body<'updateProfile'>, tag: string) =>
  resultOf(api.callWithHeaders('updateProfile', { body, headers: { 'If-Match': tag } }).then(tagged));

const tagged = ({ body, headers }: { body: ProfileView; headers: Headers }) => ({
  profile: body as Profile,
  tag: headers.get('ETag') ?? '*',
});

const page = (size: number, cursor?: string) => ({
  query: { limit: String(size), ...(cursor === undefined ? {} : { cursor }) },
});

export const listOrganizations = (cursor?: string) =>
  call('listOrganizations', page(fieldLimits.defaultPageSize, cursor));

const eventPageSize = 10;

/** Lists one page of the user's security log, newest first. @param shown how many entries more it has, up to the limit */
export const listEvents = (cursor?: string, shown = 0) =>
  call('listEvents', page(Math.min(eventPageSize + shown, fieldLimits.pageSize), cursor));
