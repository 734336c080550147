import { organizationRoles } from '@latchkey/contract/organizations';
import { type Command, Option } from 'commander';
import { findAccountByEmail } from '../identity/account/account.ts';
import { addMember, createOrganization } from '../identity/organizations/organizations.ts';
import type { Context } from '../platform/context.ts';

type Role = (typeof organizationRoles)[number];

/** `organizations create` and `organizations add-member`. */
export function organizationCommands(
  program: Command,
  run: (work: (ctx: Context) => Promise<string>) => Promise<void>,
): void {
  const organizations = program.command('organizations').description('create organizations and add members');

  organizations
    .command('create')
    .description('create an organization')
    .requiredOption('--slug <slug>', 'its name in URLs: lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'its display name')
    .action((options: { slug: string; name: string }) =>
      run(async (ctx) => {
        const id = await createOrganization(ctx, options.slug, options.name);
        return `Created the organization ${options.slug} (${id}).`;
      }),
    );

  organizations
    .command('add-member')
    .description('add an account to an organization, or change its role there')
    .requiredOption('--slug <slug>', 'the slug of the organization')
    .requiredOption('--email <address>', 'the email address of the account')
    .addOption(
      new Option('--role <role>', 'the role of the member').choices(organizationRoles).makeOptionMandatory(),
    )
    .action((options: { slug: string; email: string; role: Role }) =>
      run(async (ctx) => {
        const userId = await findAccountByEmail(ctx, options.email);
        await addMember(ctx, options.slug, userId, options.role);
        return `${options.email} now has the role ${options.role} in ${options.slug}.`;
      }),
    );
}
