// better-auth.ts users|organizations FILE: prints what a SQLite database of Better Auth holds, as lines for
// `latchkey-server users import`, or as lines of slug, tab and name.

import { Database } from 'bun:sqlite';

interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: number;
  /** Only with the plugin for administrators. */
  readonly banned?: number | null;
}
interface Membership {
  readonly userId: string;
  readonly slug: string;
  /** One role, or several separated by commas. */
  readonly role: string;
}

const [command, file = ''] = process.argv.slice(2);
const db = new Database(file, { readonly: true });
const has = (table: string) => db.query('SELECT 1 FROM sqlite_master WHERE name = ?').get(table) !== null;
const hasOrganizations = has('organization') && has('member');

/** Roles of your own become `member`. */
const roleFrom = (roles: string) =>
  ['owner', 'admin'].find((role) => roles.split(',').includes(role)) ?? 'member';

function printUsers() {
  const memberships = hasOrganizations
    ? db
        .query<Membership, []>(
          'SELECT member.userId, organization.slug, member.role FROM member JOIN organization ON organization.id = member.organizationId',
        )
        .all()
    : [];
  let left = 0;
  for (const { id, name, email, emailVerified, banned } of db.query<User, []>('SELECT * FROM user').all()) {
    if (!emailVerified || banned) {
      left++;
      continue;
    }
    const organizations = memberships
      .filter(({ userId }) => userId === id)
      .map(({ slug, role }) => ({ slug, role: roleFrom(role) }));
    console.log(JSON.stringify({ email, ...(name ? { name } : {}), organizations }));
  }
  console.error(`${left} left out: banned, or with an address that was never confirmed`);
}

function printOrganizations() {
  if (!hasOrganizations) return;
  const found = db.query<{ slug: string; name: string }, []>('SELECT slug, name FROM organization').all();
  for (const { slug, name } of found) console.log(`${slug}\t${name.replaceAll(/\s+/g, ' ')}`);
}

if (command === 'users') printUsers();
else if (command === 'organizations') printOrganizations();
else throw new Error('Usage: better-auth.ts users|organizations FILE');
