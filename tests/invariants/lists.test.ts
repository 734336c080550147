// Every paginated list, of users and of services.

import { beforeAll, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { serviceRights } from '@latchkey/contract/scopes';
import { outcome } from '#support/account.ts';
import { linkFor } from '#support/account-scene.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { startedRun } from '#support/runs.ts';
import { addMember, createOrganization } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { findAccountByEmail } from '../../packages/server/src/identity/account/account.ts';

const lists = Object.values<Endpoint>(endpoints).filter(({ query }) => query && 'cursor' in query.shape);

/** By what each entry is in its place, where that is not the newest first. */
const orders: Readonly<Record<string, string>> = {
  listOrganizations: 'joined_at',
  listMembers: 'joined_at',
  listUsers: 'email',
};

/** What a cursor of a list names: an event, an address, or the time and id of something else. */
const cursorOf = ({ id }: Endpoint) => /(Events|Users)$/.exec(id)?.[0];

/** More than a page has unless it says otherwise. */
const count = 55;

interface Person extends Tokens {
  readonly userId: string;
  /** The slug of an organization. */
  readonly team: string;
}
type Entry = Readonly<Record<string, string>>;

onBothDatabases('a list that comes in pages', (open) => {
  const app = shared(open);
  let [ada, bob]: Person[] = [];
  let authorization: string;
  let now: number;

  const signIn = async (email: string): Promise<Tokens & { userId: string }> => {
    const { token } = await linkFor(app, email);
    const { body } = await app.ask('POST', '/magic_link/verify', { json: { token } });
    return { ...body, userId: await findAccountByEmail(app.ctx, email) };
  };
  beforeAll(async () => {
    authorization = await app.serviceAuthorization(...serviceRights);
    now = app.ctx.clock();
    Object.assign(app.ctx, { clock: () => now });
    const start = async (email: string, team: string): Promise<Person> => {
      await createOrganization(app.ctx, team, 'Team');
      return { ...(await signIn(email)), team };
    };
    [bob, ada] = [await start('bob@example.com', 'others'), await start('ada@example.com', 'team')];
    for (let n = 0; n < count; n++) {
      // What began in the same millisecond has an order, too.
      if (n % 10 < 3) now += 1;
      const person = n % 5 === 0 ? bob : ada;
      await signIn(n % 5 === 0 ? 'bob@example.com' : 'ada@example.com');
      if (n % 2) await createdKey(app, person);
      else await startedRun(app, person.access_token, { scope: 'profile' });
      const { userId } = await signIn(`person-${n}@example.com`);
      await addMember(app.ctx, person.team, userId, 'member');
      await createOrganization(app.ctx, `org-${n}`, 'Organization');
      await addMember(app.ctx, `org-${n}`, person.userId, 'admin');
    }
  });

  const pathOf = ({ path }: Endpoint, { userId, team }: Person) =>
    path.slice('/api/v1/auth'.length).replace('{user_id}', userId).replace('{slug}', team);
  const page = (list: Endpoint, person: Person, query: string) => {
    const asService = list.access === 'service';
    const ask = asService ? { headers: { Authorization: authorization } } : { token: person.access_token };
    return app.ask('GET', `${pathOf(list, person)}?${query}`, ask);
  };

  test.each(lists.map((list) => [list.id, list] as const))(
    '%s shows each entry once, in order, whatever the limit and whatever is added meanwhile, and with the cursor of another account or list nothing of that',
    async (id, list) => {
      const first = await page(list, ada!, 'limit=1');
      const member = Object.keys(first.body).find((name) => Array.isArray(first.body[name]))!;
      const pages = async (limit: number, whilePaging?: () => Promise<unknown>): Promise<Entry[][]> => {
        const found: Entry[][] = [];
        for (let cursor: string | null = ''; cursor !== null && found.length < 100; ) {
          const { body } = await page(list, ada!, `limit=${limit}${cursor && `&cursor=${cursor}`}`);
          expect(body[member].length).toBeLessThanOrEqual(limit);
          found.push(body[member]);
          cursor = body.next_cursor;
          await whilePaging?.();
        }
        return found;
      };
      const whole = (await pages(100)).flat();
      const ids = whole.map((entry) => entry['id'] ?? entry['user_id']!);
      expect([whole.length > 20, new Set(ids).size]).toEqual([true, whole.length]);
      const places = whole.map((entry) => entry[orders[id] ?? 'created_at']!);
      expect(places).toEqual(orders[id] ? places.toSorted() : places.toSorted().toReversed());
      expect((await page(list, ada!, '')).body[member]).toEqual(whole.slice(0, 50));
      const add = () => {
        now += 1;
        return id === 'listKeys' ? createdKey(app, ada!) : signIn('ada@example.com');
      };
      for (const [limit, whilePaging] of [[Math.min(whole.length, 100)], [7, add]] as const) {
        const found = await pages(limit, whilePaging);
        expect(found).toHaveLength(Math.ceil(whole.length / limit));
        expect(found.flat()).toEqual(whole);
      }

      const cursor = `cursor=${first.body.next_cursor}`;
      const { body } = await page(list, bob!, cursor);
      const shown = body[member].map((entry: Entry) => entry['id'] ?? entry['user_id']!);
      if (id !== 'listUsers') expect(shown.filter((one: string) => ids.includes(one))).toEqual([]);
      for (const other of lists.filter((one) => cursorOf(one) !== cursorOf(list))) {
        const answer = await page(other, ada!, cursor);
        expect([other.id, outcome(answer)]).toEqual([other.id, '400 invalid_request']);
      }
    },
  );
});
