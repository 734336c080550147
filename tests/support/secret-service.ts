// A real Secret Service (GNOME's) on its own session bus, for tests. It activates no other services and shows no
// prompts: unlocking by a prompt fails.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { endAtExit, hasEnded, removeAtExit } from './cleanup.ts';

export interface SecretService {
  /** For DBUS_SESSION_BUS_ADDRESS. */
  readonly address: string;
  signalBus(name: 'SIGSTOP' | 'SIGCONT'): void;
  signalService(name: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

export const hasSecretService = Boolean(Bun.which('dbus-daemon') && Bun.which('gnome-keyring-daemon'));

const dbusSend = ['dbus-send', '--session', '--print-reply', '--dest=org.freedesktop.DBus', '/'];

/** @param home the directory of the keyrings; a later start unlocks them with the password of the first */
export async function startSecretService(home: string, password?: string): Promise<SecretService> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-bus-'));
  removeAtExit(directory);
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

  const start = (command: string[], input: string) => {
    const child = spawn(command, { env, stdin: Buffer.from(input), stdout: 'pipe', stderr: 'ignore' });
    endAtExit(child.pid);
    child.exited.then(() => hasEnded(child.pid));
    return child;
  };
  const bus = start(['dbus-daemon', `--config-file=${config}`, '--nofork', '--print-address'], '');
  await bus.stdout.getReader().read();
  const unlock = password === undefined ? [] : ['--unlock'];
  const keyring = start(
    ['gnome-keyring-daemon', '--foreground', '--components=secrets', ...unlock],
    password ?? '',
  );
  // Clients that come before it find no keychain.
  const isThere = [...dbusSend, 'org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.secrets'];
  while (!(await new Response(start(isThere, '').stdout).text()).includes('boolean true'))
    await Bun.sleep(20);
  return {
    address,
    signalBus: (name) => bus.kill(name),
    signalService: (name) => keyring.kill(name),
    stop: async () => {
      for (const child of [keyring, bus]) {
        child.kill('SIGKILL');
        await child.exited;
      }
    },
  };
}
