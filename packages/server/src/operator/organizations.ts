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
  const organizations = program.command('organizations').description('make organizations and fill them');

  organizations
    .command('create')
    .description('make an organization')
    .requiredOption('--slug <slug>', 'its name in addresses: lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'its name for people')
    .action((options: { slug: string; name: string }) =>
      run(async (ctx) => {
        const id = await createOrganization(ctx, options.slug, options.name);
        return `Made the organization ${options.slug} (${id}).`;
      }),
    );

  organizations
    .command('add-member')
    .description('make someone a member, or change the role of a member')
    .requiredOption('--slug <slug>', 'the organization')
    .requiredOption('--email <address>', 'the address of an account')
    .addOption(
      new Option('--role <role>', 'what the member may do').choices(organizationRoles).makeOptionMandatory(),
    )
    .action((options: { slug: string; email: string; role: Role }) =>
      run(async (ctx) => {
        const userId = await findAccountByEmail(ctx, options.email);
        await addMember(ctx, options.slug, userId, options.role);
        return `${options.email} is ${options.role} of ${options.slug}.`;
      }),
    );
}
