import type { Command } from 'commander';
import { listUnsent } from '../platform/mail/outbox-store.ts';
import type { Run } from './commands.ts';

const maxRows = 200;

/** `outbox`: lists the emails that were not sent, without their recipients. */
export function outboxCommand(program: Command, run: Run): void {
  program
    .command('outbox')
    .description(`list emails that wait or were given up as JSON lines, newest first, at most ${maxRows}`)
    .action(
      run(async (ctx) => {
        const mails = await listUnsent(ctx.db.read, { limit: maxRows });
        return mails
          .map((mail) =>
            JSON.stringify({
              id: mail.id,
              template: mail.template,
              state: mail.dead_at === null ? 'waiting' : 'dead',
              created_at: new Date(mail.created_at).toISOString(),
              next_attempt_at: mail.dead_at === null ? new Date(mail.next_attempt_at).toISOString() : null,
              attempts: mail.attempts,
              last_error: mail.last_error,
            }),
          )
          .join('\n');
      }),
    );
}
