import {
  type BusCall,
  BusError,
  type BusValue,
  KeychainAbsent,
  type SessionBus,
  withSessionBus,
} from './session-bus.ts';

/** One secret of the Linux keychain, found by its purpose. No call unlocks anything: a prompt might never be answered. */
export interface SecretItem {
  /** Null if there is none. @throws {KeychainAbsent}; an error if it is locked or does not respond in time */
  read(): Promise<string | null>;
  /** @throws as `read` */
  write(secret: string): Promise<void>;
}

/** What the keychain holds is unknown. */
const locked = (): Error => new Error('it is locked');

const secrets = 'org.freedesktop.secrets';
const servicePath = '/org/freedesktop/secrets';
const service = 'org.freedesktop.Secret.Service';
const collection = 'org.freedesktop.Secret.Collection';
const item = 'org.freedesktop.Secret.Item';
/** The path that means none. */
const none = '/';
/** It may be locked between two calls. */
const lockedCode = 'org.freedesktop.Secret.Error.IsLocked';
/** What the bus says if no Secret Service runs or can be started, or if a sandbox keeps this process from it. */
const absentCodes =
  /^org\.freedesktop\.DBus\.Error\.(ServiceUnknown|NameHasNoOwner|AccessDenied|UnknownMethod|UnknownObject|UnknownInterface|Spawn\..*)$/;

/**
 * @param label what people see in the keychain's own program
 * @see https://specifications.freedesktop.org/secret-service-spec/latest/
 */
export function secretItem(
  bus: SessionBus,
  ms: number,
  label: string,
  attributes: Readonly<Record<string, string>>,
): SecretItem {
  const dictionary = Object.entries(attributes);

  const onBus = async <T>(work: (call: BusCall) => Promise<T>): Promise<T> => {
    try {
      return await withSessionBus(bus, ms, work);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (error.code === lockedCode) throw locked();
      throw absentCodes.test(error.code) ? new KeychainAbsent('no Secret Service runs') : error;
    }
  };

  /** The path of the item, if there is one. @throws if a locked keychain may hold it */
  const find = async (call: BusCall): Promise<string | undefined> => {
    const [found, hidden] = (await call(
      secrets,
      servicePath,
      `${service}.SearchItems`,
      'a{ss}',
      dictionary,
    )) as string[][];
    if (found?.[0] !== undefined) return found[0];
    if (hidden?.[0] !== undefined) throw locked();
    await unlockedCollection(call);
    return undefined;
  };

  return {
    read: () =>
      onBus(async (call) => {
        const path = await find(call);
        if (path === undefined) return null;
        const session = await openSession(call);
        const [secret] = await call(secrets, path, `${item}.GetSecret`, 'o', session);
        const [, , value] = secret as [string, Uint8Array, Uint8Array];
        return Buffer.from(value).toString('utf8');
      }),
    write: (text) =>
      onBus(async (call) => {
        const session = await openSession(call);
        const secret: BusValue = [session, new Uint8Array(), Buffer.from(text), 'text/plain; charset=utf8'];
        const path = await find(call);
        if (path !== undefined)
          return void (await call(secrets, path, `${item}.SetSecret`, '(oayays)', secret));
        const properties: BusValue = [
          [`${item}.Label`, ['s', label]],
          [`${item}.Attributes`, ['a{ss}', dictionary]],
        ];
        const [, prompt] = await call(
          secrets,
          await unlockedCollection(call),
          `${collection}.CreateItem`,
          'a{sv}(oayays)b',
          properties,
          secret,
          true,
        );
        if (prompt !== none) throw locked();
      }),
  };
}

/** Secrets cross the bus unencrypted: a program that could read them there can ask the keychain, too. */
async function openSession(call: BusCall): Promise<string> {
  const [, session] = await call(secrets, servicePath, `${service}.OpenSession`, 'sv', 'plain', ['s', '']);
  return String(session);
}

/** Where new items are stored. */
async function unlockedCollection(call: BusCall): Promise<string> {
  const [path] = await call(secrets, servicePath, `${service}.ReadAlias`, 's', 'default');
  if (path === none) throw new KeychainAbsent('it has no default collection');
  const [state] = await call(
    secrets,
    String(path),
    'org.freedesktop.DBus.Properties.Get',
    'ss',
    collection,
    'Locked',
  );
  if ((state as [string, BusValue])[1] === true) throw locked();
  return String(path);
}
