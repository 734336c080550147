import type { Command } from 'commander';
import {
  hasConfiguredKeys,
  keyFilePath,
  readKeyList,
  readRetiredKeyList,
  writeKeyFile,
} from '../platform/config/server-keys.ts';
import type { Context } from '../platform/context.ts';
import { keyIdOf, withNewKey, withoutKey, withSigningKey } from '../platform/crypto/key-list.ts';
import { parseKeyRing } from '../platform/crypto/primitives.ts';
import { AuthError, conflict } from '../platform/errors.ts';
import { lastSeals, sealedByAnotherAt } from '../security-log/events/auditing.ts';
import { countUnchangedSince } from '../sessions/sessions.ts';
import {
  deleteReplacedKeys,
  everyNodeFollowsMs,
  listSigningKeys,
  rotateSigningKey,
} from '../trust/signing-keys/signing-keys.ts';
import { type CommandContext, counted, printsList, type Run, withArgument } from './commands.ts';
import { shortTime, type Table, timeOf } from './output.ts';

const restart = 'A running service does not notice: restart every node';

/**
 * `keys list`, `add`, `promote`, `retire` and `rotate-signing`. What people read goes to standard error, so that standard output holds
 * nothing but settings to set.
 */
export function keyCommands(program: Command, run: Run): void {
  const keys = program
    .command('keys')
    .description(
      'list and change the keys: server keys sign tokens and seal the security log, signing keys sign introspections',
    );
  const list = keys
    .command('list')
    .description('list the server keys and the signing keys, without their secrets');
  printsList(list, run, keyTable, allKeys);
  keys
    .command('add')
    .description('add a new server key, which verifies and does not sign yet')
    .action(run(add));
  const withId = withArgument(keys, run, 'id');
  withId('promote', 'sign with a server key from the next start on; the others still verify', promote);
  withId('retire', 'remove a server key that does not sign; what it signed ends at the next start', retire);
  keys
    .command('rotate-signing')
    .description(
      'create the next signing key: it is published now and signs soon; the previous one stays published for another week',
    )
    .option(
      '--at-once',
      'after a leak: sign with the new key at once and publish no other; waits until all nodes do',
    )
    .action(
      run(async (ctx, { atOnce = false }: { atOnce?: boolean }) => {
        const signsFrom = await rotateSigningKey(ctx, { atOnce });
        if (atOnce) {
          ctx.output.say(
            `Waiting ${(3 * everyNodeFollowsMs) / 1000} s until all nodes publish only the new key.`,
          );
          await ctx.timers.sleep(2 * everyNodeFollowsMs);
          await deleteReplacedKeys(ctx);
          await ctx.timers.sleep(everyNodeFollowsMs);
        }
        return `Created a signing key; it signs from ${new Date(signsFrom).toISOString()}.`;
      }),
    );
}

/** The arguments of the program, with `--` before an id that begins with a hyphen, as one in 64 does. */
export const withKeyIds = (args: readonly string[]): string[] =>
  args.flatMap((arg, at) => {
    const isId = /^(promote|retire)$/.test(args[at - 1] ?? '') && /^-[\w-]{6}$/.test(arg);
    return isId && args[at - 2] === 'keys' ? ['--', arg] : [arg];
  });

type ListedKey = ReturnType<typeof allKeys> extends AsyncGenerator<infer Key> ? Key : never;

const keyTable: Table<ListedKey> = {
  columns: [
    'id',
    'kind',
    'algorithm',
    'state',
    ['SIGNS FROM (UTC)', ({ signs_from }) => (signs_from === null ? '-' : shortTime(signs_from))],
    'last_sealed_at',
  ],
  empty: 'There are no keys.',
};

/** `signs_from` is null where it is unknown, `last_sealed_at` where the key sealed no stored event. */
async function* allKeys(ctx: CommandContext) {
  const seals = await lastSeals(ctx);
  const retired = readRetiredKeyList(ctx.env);
  const serverKey = (id: string, state: 'signing' | 'next' | 'accepted' | 'retired') => ({
    id,
    kind: 'server key',
    algorithm: 'HMAC-SHA-256',
    state,
    signs_from: null,
    last_sealed_at: timeOf(seals.get(id)),
  });
  for (const key of ctx.keys.all) {
    const id = keyIdOf(key);
    yield serverKey(id, key === ctx.keys.signing ? 'signing' : seals.has(id) ? 'accepted' : 'next');
  }
  for (const key of retired === '' ? [] : parseKeyRing(retired).all) yield serverKey(keyIdOf(key), 'retired');
  for (const { kid: id, algorithm, state, signsFrom } of await listSigningKeys(ctx))
    yield { id, kind: 'signing key', algorithm, state, signs_from: timeOf(signsFrom), last_sealed_at: null };
}

/**
 * Changes the ring in the key file, under the write lock of its database: of two commands at once, one sees
 * what the other did. Of a ring in `LATCHKEY_KEYS` the new value is printed. Nothing changes unless these
 * secrets were written.
 * @param more further settings to set
 */
async function changeRing<Changed extends { readonly list: string }>(
  ctx: CommandContext,
  change: (list: string) => Changed,
  more: (changed: Changed) => readonly string[] = () => [],
): Promise<Changed> {
  const { config, env, output } = ctx;
  const writeSettings = async (settings: readonly string[]): Promise<void> => {
    if (settings.length > 0) await output.writeSecret(settings.join('\n'));
  };
  if (hasConfiguredKeys(env)) {
    const changed = change(readKeyList(config, env));
    await writeSettings([`LATCHKEY_KEYS=${changed.list}`, ...more(changed)]);
    output.say(
      'LATCHKEY_KEYS is set, so nothing was changed. Set it to the value on standard output, on every node.',
    );
    return changed;
  }
  // SQLite, on which a transaction runs once.
  const changed = await ctx.db.transaction(async () => {
    const ring = change(readKeyList(config, env));
    await writeSettings(more(ring));
    writeKeyFile(config, ring.list);
    return ring;
  });
  output.say(`Changed the key file ${keyFilePath(config)}. Renew its copy.`);
  return changed;
}

async function add(ctx: CommandContext): Promise<undefined> {
  const { say } = ctx.output;
  const { id } = await changeRing(ctx, withNewKey);
  say(`The new server key ${id} verifies and does not sign yet.`);
  say(`${restart}, then run: latchkey-server keys promote ${id}`);
}

async function promote(ctx: CommandContext, id: string): Promise<undefined> {
  const { say } = ctx.output;
  if (keyIdOf(ctx.keys.signing) === id)
    return say(`The server key ${id} already signs. Nothing was changed.`);
  await changeRing(ctx, (list) => {
    const promoted = withSigningKey(list, id);
    if (promoted === undefined) throw unknownKey(id);
    return { list: promoted };
  });
  say(`The server key ${id} signs from now on; the other keys still verify.`);
  say('Every node must have been restarted since the key was added, or it refuses the new tokens.');
  say(`${restart}.`);
}

async function retire(ctx: CommandContext, id: string): Promise<undefined> {
  const { say } = ctx.output;
  const isInRing = ctx.keys.all.some((key) => keyIdOf(key) === id);
  const lastSeal = isInRing ? (await lastSeals(ctx)).get(id) : undefined;
  const warnings = isInRing ? await dependents(ctx, id, lastSeal) : [];
  const isNeeded = lastSeal !== undefined || warnings.length > 0;
  const others = readRetiredKeyList(ctx.env);
  await changeRing(
    ctx,
    (list) => {
      if (keyIdOf(parseKeyRing(list).signing) === id) {
        throw conflict(`The server key ${id} signs. Promote another one first.`);
      }
      const shorter = withoutKey(list, id);
      if (!shorter) throw unknownKey(id);
      return shorter;
    },
    ({ retired }) =>
      isNeeded ? [`LATCHKEY_RETIRED_KEYS=${others === '' ? retired : `${retired},${others}`}`] : [],
  );
  say(`The server key ${id} was taken out of the ring.`);
  for (const warning of warnings) say(`Warning: ${warning}`);
  if (isNeeded) {
    say('Set LATCHKEY_RETIRED_KEYS to the value on standard output, unless the key leaked: it verifies the');
    say(
      'security log and nothing else. With the key back at the end of the ring, what it signed works again.',
    );
  }
  say(`${restart}.`);
}

const unknownKey = (id: string): AuthError =>
  new AuthError(
    'not_found',
    `No server key has the id ${id}. \`latchkey-server keys list\` shows them; signing keys are changed with \`keys rotate-signing\`.`,
  );

/** What may stop working without a server key. */
async function dependents(ctx: Context, id: string, lastSeal: number | undefined): Promise<string[]> {
  const encrypted = (await listSigningKeys(ctx)).filter(
    ({ serverKey, state }) => serverKey && keyIdOf(serverKey) === id && state !== 'accepted',
  );
  return [
    ...(await tokensUnder(ctx, id, lastSeal)),
    ...encrypted.map(
      ({ kid }) =>
        `the signing key ${kid} is encrypted under it; without it, another signing key takes over.`,
    ),
  ];
}

/** What is known of the tokens that a server key signed. A refresh leaves no trace, so the counts are upper limits. */
async function tokensUnder(ctx: Context, id: string, lastSeal: number | undefined): Promise<string[]> {
  const now = ctx.clock();
  const signedUntil =
    lastSeal === undefined ? now : ((await sealedByAnotherAt(ctx, { keyId: id, lastSeal })) ?? now);
  const { sessions, keys } = await countUnchangedSince(ctx, signedUntil);
  if (sessions + keys === 0) return [];
  const affected = `${counted(sessions, 'active session')} and ${counted(keys, 'key')} of users`;
  if (lastSeal === undefined) {
    return [
      `it sealed no event that is kept, which does not tell whether it signed tokens. If it ever signed, up to ${affected} may depend on it. They end when the nodes restart.`,
    ];
  }
  const until = signedUntil + ctx.config.refreshIdleTtlSeconds * 1000;
  return [
    `it last sealed an event at ${timeOf(lastSeal)}, and may have signed tokens until ${timeOf(signedUntil)}, on nodes that restarted later also after that. Tokens of sessions that it signed before then are valid until ${timeOf(until)}, and keys of users for up to a year.`,
    `${affected} got their newest token before then and may depend on it. They end when the nodes restart.`,
  ];
}
