// A real Secret Service (GNOME's) on its own session bus, for tests. It activates no other services and shows no
// prompts: unlocking by a prompt fails.

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type BusValue, encodeMessage, incoming } from '@latchkey/client/internal/storage/session-bus';
import { end, spawn } from './cleanup.ts';
import { temporaryDirectory } from './service.ts';
import { until } from './until.ts';

export const hasSecretService = Boolean(Bun.which('dbus-daemon') && Bun.which('gnome-keyring-daemon'));

const dbusSend = ['dbus-send', '--session', '--print-reply', '--dest=org.freedesktop.DBus', '/'];

/** @param home the directory of the keyrings; a later start unlocks them with the password of the first */
export async function startSecretService(home: string, password?: string) {
  const directory = temporaryDirectory();
  mkdirSync(home, { recursive: true });
  const config = join(directory, 'bus.conf');
  const socket = join(directory, 'bus');
  writeFileSync(
    config,
    `<busconfig><type>session</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth>
      <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`,
  );
  const address = `unix:path=${socket}`;
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, DBUS_SESSION_BUS_ADDRESS: address };

  const start = (command: string[], input: string) =>
    spawn(command, { env, stdin: Buffer.from(input), stdout: 'pipe', stderr: 'ignore' });
  const bus = start(['dbus-daemon', `--config-file=${config}`, '--nofork', '--print-address'], '');
  await bus.stdout.getReader().read();
  const unlock = password === undefined ? [] : ['--unlock'];
  const keyring = start(
    ['gnome-keyring-daemon', '--foreground', '--components=secrets', ...unlock],
    password ?? '',
  );
  // Clients that come before it find no keychain.
  const isThere = [...dbusSend, 'org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.secrets'];
  await until(
    async () => (await new Response(start(isThere, '').stdout).text()).includes('boolean true'),
    'the keychain',
  );
  return {
    /** For DBUS_SESSION_BUS_ADDRESS. */
    address,
    stop: async () => {
      for (const child of [keyring, bus]) await end(child, 'SIGKILL');
    },
  };
}

/** What a fake Secret Service answers to a method: a signature and its values, an error, or nothing. */
type FakeAnswer = readonly [signature: string, ...values: readonly BusValue[]] | string;

/**
 * A bus whose Secret Service does what a real one does not do on demand: it never answers the methods that are left out. `silent` does not even
 * answer the authentication, `refused` refuses it.
 */
export async function startFakeSecretService(
  answers: Readonly<Record<string, FakeAnswer>> | 'silent' | 'refused',
) {
  const directory = temporaryDirectory();
  const path = join(directory, 'bus');
  const called: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    const received = incoming(socket);
    const respond = async () => {
      await received.line();
      if (answers === 'silent') return;
      socket.write(answers === 'refused' ? 'REJECTED EXTERNAL\r\n' : 'OK 0123456789abcdef\r\n');
      if (answers === 'refused') return;
      await received.line();
      for (;;) {
        const { serial, member } = await received.message();
        called.push(member);
        const answer = answers[member];
        if (answer === undefined) continue;
        const replyTo: BusValue = [5, ['u', serial]];
        if (typeof answer === 'string') {
          socket.write(encodeMessage(3, serial, [replyTo, [4, ['s', answer]]], '', []));
          continue;
        }
        const [signature, ...values] = answer;
        socket.write(encodeMessage(2, serial, [replyTo, [8, ['g', signature]]], signature, values));
      }
    };
    respond().catch(() => {});
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    /** For DBUS_SESSION_BUS_ADDRESS. */
    address: `unix:path=${path}`,
    /** The methods that were called so far. */
    called: called as readonly string[],
    stop: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
