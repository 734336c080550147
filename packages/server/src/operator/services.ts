import type { Command } from 'commander';
import type { Context } from '../platform/context.ts';
import {
  createServiceKey,
  listServiceKeys,
  revokeServiceKey,
} from '../services/service-keys/service-keys.ts';
import { followMs, rotateSigningKey } from '../trust/signing-keys/signing-keys.ts';

type Run = (work: (ctx: Context) => Promise<string>) => Promise<void>;

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** `services create`, `services list` and `services revoke`; `signing-keys rotate`. */
export function serviceCommands(program: Command, run: Run): void {
  addServiceKeyCommands(program, run);
  addSigningKeyCommands(program, run);
}

function addServiceKeyCommands(program: Command, run: Run): void {
  const services = program
    .command('services')
    .description('manage the keys that services introspect tokens with');

  services
    .command('create <name>')
    .description('create a service key; the last line is id:secret and is shown only once')
    .action((name: string) =>
      run(async (ctx) => {
        const { id, secret } = await createServiceKey(ctx, name);
        return `Created a service key for ${name}. Save it now: it is not shown again.\n${id}:${secret}`;
      }),
    );

  services
    .command('list')
    .description('list the service keys without their secrets as JSON lines, oldest first')
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
    .description('revoke a service key at once')
    .action((id: string) =>
      run(async (ctx) => {
        await revokeServiceKey(ctx, id);
        return `Revoked ${id}.`;
      }),
    );
}

function addSigningKeyCommands(program: Command, run: Run): void {
  program
    .command('signing-keys')
    .description('manage the keys that sign introspection responses')
    .command('rotate')
    .description(
      'create the next key: it is published now and signs soon; the previous key stays published for another week',
    )
    .option(
      '--at-once',
      'after a leak: sign with the new key at once and publish no other; waits until all nodes do',
    )
    .action(({ atOnce = false }: { atOnce?: boolean }) =>
      run(async (ctx) => {
        const signsFrom = await rotateSigningKey(ctx, { atOnce });
        if (atOnce) {
          process.stderr.write(`Waiting ${followMs / 1000} s until all nodes publish only the new key.\n`);
          await Bun.sleep(followMs);
        }
        return `Created a signing key; it signs from ${new Date(signsFrom).toISOString()}.`;
      }),
    );
}
