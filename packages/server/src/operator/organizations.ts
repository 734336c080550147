import { type OrganizationRole, organizationRoles } from '@latchkey/contract/organizations';
import { terminalJson } from '@latchkey/contract/untrusted-text';
import { type Command, Option } from 'commander';
import { findAccountByEmail } from '../identity/account/account.ts';
import {
  deleteOrganization,
  findOrganization,
  listAllOrganizations,
  listMembers,
  type MemberWithEmail,
  putOrganization,
  removeMember,
  setMember,
} from '../identity/organizations/organizations.ts';
import { allPages, type CommandContext, printsList, type Run } from './commands.ts';
import { shortTime, type Table } from './output.ts';

const byOperator = { by: 'operator' } as const;

export function organizationCommands(program: Command, run: Run): void {
  const organizations = program
    .command('organizations')
    .description('list, create, rename and delete organizations, and manage their members');
  const withSlug = (name: string, slug = 'the slug of the organization') =>
    organizations.command(name).requiredOption('--slug <slug>', slug);
  const list = organizations
    .command('list')
    .description('list the organizations by slug')
    .option('--all', 'list personal ones, too');
  printsList(list, run, organizationTable, (ctx) => {
    const { all: personal = false } = list.opts<{ all?: true }>();
    return allPages('organizations', (page) => listAllOrganizations(ctx, { personal, ...page }));
  });
  withSlug('show')
    .description('show an organization and its members, oldest membership first')
    .option('--json', 'print JSON instead of a table')
    .action(run(show));
  withSlug('create', 'its name in URLs: lower-case letters and digits, with single hyphens')
    .description('create an organization')
    .requiredOption('--name <name>', 'its display name')
    .action(
      run(async (ctx, { slug, name }: { slug: string; name: string }) => {
        const { organization } = await putOrganization(ctx, slug, name, { create: true, rename: false });
        return `Created the organization ${slug} (${organization.id}).`;
      }),
    );
  withSlug('rename')
    .description('change the display name of an organization; its slug stays')
    .requiredOption('--name <name>', 'the new display name')
    .action(
      run(async (ctx, { slug, name }: { slug: string; name: string }) => {
        await putOrganization(ctx, slug, name, { create: false, rename: true });
        return `Renamed the organization ${slug} to ${name}.`;
      }),
    );
  withSlug('delete')
    .description('permanently delete an organization; its members keep their accounts')
    .action(
      run(async (ctx, { slug }: { slug: string }) => {
        await deleteOrganization(ctx, slug, byOperator);
        return `Deleted the organization ${slug}.`;
      }),
    );
  withSlug('add-member')
    .description('add an account to an organization, or change its role there')
    .requiredOption('--email <address>', 'the email address of the account')
    .addOption(
      new Option('--role <role>', 'the role of the member').choices(organizationRoles).makeOptionMandatory(),
    )
    .action(
      run(async (ctx, { slug, email, role }: { slug: string; email: string; role: OrganizationRole }) => {
        await setMember(ctx, slug, await findAccountByEmail(ctx, email), role, byOperator);
        return `${email} now has the role ${role} in ${slug}.`;
      }),
    );
  withSlug('remove-member')
    .description('remove an account from an organization')
    .requiredOption('--email <address>', 'the email address of the account')
    .action(
      run(async (ctx, { slug, email }: { slug: string; email: string }) => {
        await removeMember(ctx, slug, await findAccountByEmail(ctx, email), byOperator);
        return `${email} is no longer a member of ${slug}.`;
      }),
    );
}

type ListedOrganization = Awaited<ReturnType<typeof listAllOrganizations>>['organizations'][number];

const organizationTable: Table<ListedOrganization> = {
  columns: ['slug', 'name', 'members', 'owners', 'created_at', 'id'],
  empty: 'There are no organizations.',
};

const memberTable: Table<MemberWithEmail> = {
  columns: ['email', 'role', 'name', 'joined_at', 'user_id'],
  empty: 'It has no members.',
};

async function show(ctx: CommandContext, { slug, json }: { readonly slug: string; readonly json?: true }) {
  const organization = await findOrganization(ctx, slug);
  const members = allPages('members', (page) => listMembers(ctx, slug, page));
  if (json) return terminalJson({ ...organization, members: await Array.fromAsync(members) }, 2);
  const { id, name, personal, created_at } = organization;
  const kind = personal ? 'personal organization' : 'organization';
  await ctx.output.write(`${name}: ${kind} ${slug} (${id}), created ${shortTime(created_at)} UTC\n`);
  return ctx.output.writeList(members, memberTable);
}
