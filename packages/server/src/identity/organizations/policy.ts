import { fieldLimits } from '@latchkey/contract/field-limits';
import { organizationName, organizationSlug } from '@latchkey/contract/organizations';
import { AuthError, invalidSlug } from '../../platform/errors.ts';

export const noSuchOrganization = (slug: string): AuthError =>
  new AuthError('not_found', `There is no organization with the slug ${slug}.`);

/** @throws {AuthError} `conflict`: a personal organization belongs to its account, and only changes with it */
export function requireShared({
  slug,
  personal,
}: {
  readonly slug: string;
  readonly personal: number;
}): void {
  if (personal === 1) throw new AuthError('conflict', `${slug} is a personal organization.`);
}

/** @throws {AuthError} `invalid_request` */
export function requireValidSlug(slug: string): void {
  if (!organizationSlug.test(slug)) throw invalidSlug();
}

/** For names that no schema has checked. @throws {AuthError} `invalid_request` */
export function requireValidName(name: string): void {
  if (organizationName.safeParse(name).success) return;
  throw new AuthError(
    'invalid_request',
    `name: must be 1-${fieldLimits.organizationName} printable characters`,
  );
}
