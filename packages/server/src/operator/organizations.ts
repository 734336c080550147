import { type OrganizationRole, organizationRoles } from '@latchkey/contract/organizations';
import { type Command, Option } from 'commander';
import { findAccountByEmail } from '../identity/account/account.ts';
import {
  deleteOrganization,
  findOrganization,
  listMembers,
  listOrganizations,
  type MemberWithEmail,
  putOrganization,
  removeMember,
  setMember,
} from '../identity/organizations/organizations.ts';
import type { Context } from '../platform/context.ts';
import { safeJson, shortTime, type Table, write, writeList } from './output.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

/** How many rows are read from the database at once. */
const pageSize = 500;

const byOperator = { by: 'operator' } as const;

const asJson = 'print JSON instead of a table';

/** `organizations list`, `show`, `create`, `rename`, `delete`, `add-member` and `remove-member`. */
export function organizationCommands(program: Command, run: Run): void {
  const organizations = program
    .command('organizations')
    .description('list, create, rename and delete organizations, and manage their members');
  addReadingCommands(organizations, run);
  addOrganizationCommands(organizations, run);
  addMemberCommands(organizations, run);
}

const withSlug = (command: Command): Command =>
  command.requiredOption('--slug <slug>', 'the slug of the organization');

function addReadingCommands(organizations: Command, run: Run): void {
  organizations
    .command('list')
    .description('list the organizations by slug')
    .option('--all', 'list personal ones, too')
    .option('--json', 'print JSON lines instead of a table')
    .action(({ all = false, ...options }: { all?: boolean; json?: true }) =>
      run(async (ctx) => {
        await writeList(allOrganizations(ctx, { personal: all }), organizationTable, options);
        return '';
      }),
    );

  withSlug(organizations.command('show'))
    .description('show an organization and its members, oldest membership first')
    .option('--json', asJson)
    .action(({ slug, json }: { slug: string; json?: true }) =>
      run((ctx) => (json ? showAsJson(ctx, slug) : show(ctx, slug))),
    );
}

function addOrganizationCommands(organizations: Command, run: Run): void {
  organizations
    .command('create')
    .description('create an organization')
    .requiredOption('--slug <slug>', 'its name in URLs: lower-case letters and digits, with single hyphens')
    .requiredOption('--name <name>', 'its display name')
    .action(({ slug, name }: { slug: string; name: string }) =>
      run(async (ctx) => {
        const { organization } = await putOrganization(ctx, slug, name, { create: true, rename: false });
        return `Created the organization ${slug} (${organization.id}).`;
      }),
    );

  withSlug(organizations.command('rename'))
    .description('change the display name of an organization; its slug stays')
    .requiredOption('--name <name>', 'the new display name')
    .action(({ slug, name }: { slug: string; name: string }) =>
      run(async (ctx) => {
        await putOrganization(ctx, slug, name, { create: false, rename: true });
        return `Renamed the organization ${slug} to ${name}.`;
      }),
    );

  withSlug(organizations.command('delete'))
    .description('permanently delete an organization; its members keep their accounts')
    .action(({ slug }: { slug: string }) =>
      run(async (ctx) => {
        await deleteOrganization(ctx, slug, byOperator);
        return `Deleted the organization ${slug}.`;
      }),
    );
}

function addMemberCommands(organizations: Command, run: Run): void {
  withSlug(organizations.command('add-member'))
    .description('add an account to an organization, or change its role there')
    .requiredOption('--email <address>', 'the email address of the account')
    .addOption(
      new Option('--role <role>', 'the role of the member').choices(organizationRoles).makeOptionMandatory(),
    )
    .action(({ slug, email, role }: { slug: string; email: string; role: OrganizationRole }) =>
      run(async (ctx) => {
        await setMember(ctx, slug, await findAccountByEmail(ctx, email), role, byOperator);
        return `${email} now has the role ${role} in ${slug}.`;
      }),
    );

  withSlug(organizations.command('remove-member'))
    .description('remove an account from an organization')
    .requiredOption('--email <address>', 'the email address of the account')
    .action(({ slug, email }: { slug: string; email: string }) =>
      run(async (ctx) => {
        await removeMember(ctx, slug, await findAccountByEmail(ctx, email), byOperator);
        return `${email} is no longer a member of ${slug}.`;
      }),
    );
}

async function* allOrganizations(ctx: Context, { personal }: { personal: boolean }) {
  for (let after = ''; ; ) {
    const page = await listOrganizations(ctx, { after, limit: pageSize, most_personal: Number(personal) });
    for (const row of page) yield { ...row, created_at: new Date(row.created_at).toISOString() };
    if (page.length < pageSize) return;
    after = page.at(-1)!.slug;
  }
}

type ListedOrganization =
  ReturnType<typeof allOrganizations> extends AsyncGenerator<infer Entry> ? Entry : never;

const organizationTable: Table<ListedOrganization> = {
  heading: ['SLUG', 'NAME', 'MEMBERS', 'OWNERS', 'CREATED (UTC)', 'ID'],
  cells: ({ slug, name, members, owners, created_at, id }) => [
    slug,
    name,
    String(members),
    String(owners),
    shortTime(created_at),
    id,
  ],
  empty: 'There are no organizations.',
};

async function* allMembers(ctx: Context, slug: string): AsyncGenerator<MemberWithEmail> {
  let cursor: string | null | undefined;
  do {
    const page = await listMembers(ctx, slug, { limit: pageSize, cursor: cursor ?? undefined });
    yield* page.members;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

const memberTable: Table<MemberWithEmail> = {
  heading: ['EMAIL', 'ROLE', 'NAME', 'JOINED (UTC)', 'USER ID'],
  cells: ({ email, role, name, joined_at, user_id }) => [email, role, name, shortTime(joined_at), user_id],
  empty: 'It has no members.',
};

async function show(ctx: Context, slug: string): Promise<string> {
  const { id, name, personal, created_at } = await findOrganization(ctx, slug);
  const kind = personal ? 'personal organization' : 'organization';
  await write(`${name}: ${kind} ${slug} (${id}), created ${shortTime(created_at)} UTC\n`);
  await writeList(allMembers(ctx, slug), memberTable, {});
  return '';
}

async function showAsJson(ctx: Context, slug: string): Promise<string> {
  const organization = await findOrganization(ctx, slug);
  return safeJson({ ...organization, members: await Array.fromAsync(allMembers(ctx, slug)) }, 2);
}
