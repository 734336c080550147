import type { Command } from 'commander';
import type { Context } from '../platform/context.ts';
import {
  createServiceKey,
  listServiceKeys,
  revokeServiceKey,
} from '../services/service-keys/service-keys.ts';
import { followMs, rotateSigningKey } from '../services/signing-keys/signing-keys.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** `services create`, `services list` and `services revoke`; `signing-keys rotate`. */
export function serviceCommands(program: Command, run: Run): void {
  const services = program
    .command('services')
    .description('keys by which sibling services ask whether a token is good');

  services
    .command('create <name>')
    .description('make a key; the last line is id:secret, shown this once')
    .action((name: string) =>
      run(async (ctx) => {
        const { id, secret } = await createServiceKey(ctx, name);
        return `Made a service key for ${name}. Keep it now; only a hash of it is stored.\n${id}:${secret}`;
      }),
    );

  services
    .command('list')
    .description('list the keys without their secrets, oldest first, as JSON lines')
    .action(() =>
      run(async (ctx) =>
        (await listServiceKeys(ctx))
          .map(({ id, name, created_at, last_used_at, revoked_at }) =>
            JSON.stringify({
              id,
              name,
              created_at: new Date(created_at).toISOString(),
              last_used_at: timeOrNull(last_used_at),
              revoked_at: timeOrNull(revoked_at),
            }),
          )
          .join('\n'),
      ),
    );

  services
    .command('revoke <id>')
    .description('end a key at once')
    .action((id: string) =>
      run(async (ctx) => {
        await revokeServiceKey(ctx, id);
        return `Revoked ${id}.`;
      }),
    );

  program
    .command('signing-keys')
    .description('the keys that sign introspections')
    .command('rotate')
    .description('make the next key: published now, signing soon, the former one good for another day')
    .option(
      '--at-once',
      'after a leak: sign with it at once and publish no other; waits until every node does',
    )
    .action(({ atOnce = false }: { atOnce?: boolean }) =>
      run(async (ctx) => {
        const signsFrom = await rotateSigningKey(ctx, { atOnce });
        if (atOnce) {
          process.stderr.write(
            `Waiting ${followMs / 1000} s, until every node publishes the new key alone.\n`,
          );
          await Bun.sleep(followMs);
        }
        return `Made a signing key; it signs from ${new Date(signsFrom).toISOString()}.`;
      }),
    );
}
