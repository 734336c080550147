import { type ServiceRight, serviceRights } from '@latchkey/contract/scopes';
import { type Command, InvalidArgumentError } from 'commander';
import { type DeclaredScope, emptyRegistration, type Registration } from '../services/registration.ts';
import {
  type CreatedService,
  createService,
  type ListedService,
  listServices,
  retireServiceKey,
  rotateServiceKey,
  setService,
} from '../services/service-keys.ts';
import { revokeService } from '../sessions/ending.ts';
import { type CommandContext, printsList, type Run, withArgument } from './commands.ts';
import type { Table } from './output.ts';

export function serviceCommands(program: Command, run: Run): void {
  const services = program
    .command('services')
    .description("manage the services that accept people's tokens, with their keys, scopes and rights");
  addRegistrationCommands(services, run);
  const list = services.command('list').description('list the services, oldest first, revoked ones included');
  printsList(list, run, serviceTable, async function* (ctx) {
    yield* await listServices(ctx);
  });
  addServiceKeyCommands(services, run);
}

/** Undefined is not named, false is cleared. */
interface Options {
  readonly resource?: string | false;
  readonly scope?: readonly DeclaredScope[] | false;
  readonly may?: readonly ServiceRight[] | false;
  readonly reach?: readonly string[] | false;
  readonly redirect?: readonly string[] | false;
  readonly signOutRedirect?: readonly string[] | false;
  readonly public?: boolean;
  readonly trusted?: boolean;
}

/** Adds to what the option had before, unless that was cleared. */
const listing =
  <Entry>(parse: (text: string) => Entry) =>
  (text: string, before: readonly Entry[] | false | undefined): readonly Entry[] => [
    ...(before || []),
    parse(text),
  ];

function parseScope(text: string): DeclaredScope {
  const [, name, sentence] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && sentence !== undefined) return { name, sentence };
  throw new InvalidArgumentError('It must be NAME=SENTENCE.');
}

function parseResource(text: string, earlier: string | false | undefined): string {
  if (typeof earlier === 'string') throw new InvalidArgumentError('A service has at most one resource.');
  if (text === '') throw new InvalidArgumentError('It must be a URI. `set --no-resource` takes one away.');
  return text;
}

function parseRight(text: string): ServiceRight {
  const right = serviceRights.find((name) => name === text);
  if (right !== undefined) return right;
  throw new InvalidArgumentError(`The rights are ${serviceRights.join(', ')}.`);
}

const withOptions = (command: Command): Command =>
  command
    .option('--resource <uri>', 'the URI that tokens for the service can be bound to', parseResource)
    .option(
      '--scope <name=sentence>',
      'a scope of the service, with the sentence that people approve; repeat it for each scope',
      listing(parseScope),
    )
    .option(
      '--may <right>',
      `a right of the service: ${serviceRights.join(', ')}; repeat it for each right`,
      listing(parseRight),
    )
    .option('--reach <uri...>', 'the resources of other services that it may ask for tokens for')
    .option('--redirect <uri...>', 'where people who sign in to it are sent back to')
    .option('--sign-out-redirect <uri...>', 'where people are sent after they have signed out')
    .option('--public', 'it runs where it cannot keep a key, as in a browser: it signs people in without one')
    .option('--trusted', "it is one of the platform's own applications: people need not approve it");

/** The declarations in the options. Undefined members stay unchanged. */
const namedBy = ({
  resource,
  scope,
  may,
  reach,
  redirect,
  signOutRedirect,
  ...client
}: Options): Partial<Registration> => ({
  ...(resource === undefined ? {} : { resource: resource === false ? null : resource }),
  ...(scope === undefined ? {} : { scopes: scope || [] }),
  ...(may === undefined ? {} : { rights: may || [] }),
  ...(reach === undefined ? {} : { reach: reach || [] }),
  ...(redirect === undefined ? {} : { redirectUris: redirect || [] }),
  ...(signOutRedirect === undefined ? {} : { signOutRedirectUris: signOutRedirect || [] }),
  ...(client.public === undefined ? {} : { isPublic: client.public }),
  ...(client.trusted === undefined ? {} : { isTrusted: client.trusted }),
});

function addRegistrationCommands(services: Command, run: Run): void {
  withOptions(services.command('create <name>'))
    .description(
      'register a service; the last line is its key, id:secret, which is shown only once, or the id of a public one',
    )
    .action(
      run(async (ctx, name: string, options: Options) => {
        const namesakes = (await listServices(ctx)).filter(
          (other) => other.name === name && !other.revoked_at,
        );
        const registration = { ...emptyRegistration, ...namedBy(options) };
        const ids = namesakes.map(({ id }) => id).join(', ');
        const others = ids && ` ${ids} ${namesakes.length === 1 ? 'has' : 'have'} the same name.`;
        await createService(ctx, name, registration, (created) =>
          showKey(ctx, `Created the service ${name}.${others}`, created),
        );
      }),
    );

  withOptions(services.command('set <id>'))
    .option('--no-resource', 'the service has no resource any more')
    .option('--no-scope', 'it declares no scopes any more')
    .option('--no-may', 'it has no rights any more')
    .option('--no-reach', 'it reaches no other resources any more')
    .option('--no-redirect', 'the service can no longer sign users in; its existing sessions continue')
    .option('--no-sign-out-redirect', 'people stay on the page that confirms their signing out')
    .option('--no-public', 'it signs people in with its key')
    .option('--no-trusted', 'people have to approve it')
    .description('replace what the options name, each as a whole; the rest stays')
    .action((id: string, options: Options, command: Command) => {
      const changes = namedBy(options);
      if (Object.keys(changes).length === 0) command.error('error: name what to replace');
      return run(async (ctx) => {
        await setService(ctx, id, changes);
        return `Changed ${id}.`;
      })();
    });
}

const showKey = async ({ output }: CommandContext, sentence: string, { id, secret }: CreatedService) => {
  if (secret !== undefined)
    await output.writeSecret(`${sentence} Save its key now: it is not shown again.\n${id}:${secret}`);
  else await output.write(`${sentence} It is public: it has an id and no key.\n${id}`);
};

const orDash = (list: readonly string[]): string => list.join(' ') || '-';

const signInOf = ({ redirect_uris, public: isPublic, trusted }: ListedService): string => {
  if (redirect_uris.length === 0) return '-';
  return trusted ? 'trusted' : isPublic ? 'public' : 'yes';
};

const serviceTable: Table<ListedService> = {
  columns: [
    'id',
    'name',
    ['STATE', (one) => (one.revoked_at !== null ? 'revoked' : one.secrets === 2 ? 'two secrets' : 'active')],
    'resource',
    ['SCOPES', ({ scopes }) => orDash(scopes.map(({ name }) => name))],
    ['RIGHTS', ({ rights }) => orDash(rights)],
    ['REACHES', ({ reach }) => orDash(reach)],
    ['SIGN-IN', signInOf],
    'last_used_at',
  ],
  empty: 'There are no services.',
};

function addServiceKeyCommands(services: Command, run: Run): void {
  const withId = withArgument(services, run, 'id');
  withId(
    'rotate',
    'add a second secret, which works beside the first; the last line is id:secret and is shown only once',
    async (ctx, id) => {
      await rotateServiceKey(ctx, id, (rotated) => showKey(ctx, `Added a secret to ${id}.`, rotated));
    },
  );
  withId('retire', 'end the older of two secrets at once', async (ctx, id) => {
    await retireServiceKey(ctx, id);
    return `Ended the older secret of ${id}.`;
  });
  withId('revoke', 'revoke a service at once', async (ctx, id) => {
    await revokeService(ctx, id);
    return `Revoked ${id}.`;
  });
}
