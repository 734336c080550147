// A real SMTP server for tests. It keeps the mails that it accepts, and fails on demand.

import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { closeAtTestEnd } from './cleanup.ts';
import { until } from './until.ts';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The complete message as received, including headers. */
  readonly raw: string;
  /** When it was accepted, by the monotonic clock of this process. */
  readonly at: number;
}

/**
 * - `slow`: takes its time over every mail.
 * - `refusing`: refuses every recipient for now.
 * - `dropping`: accepts a mail and breaks all connections instead of saying so.
 */
export type MailTrouble = 'slow' | 'refusing' | 'dropping';

/** The text of a message without its quoted-printable encoding, as far as links and codes need it. */
export const plainText = (raw: string): string => raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');

export type TestSmtp = Awaited<ReturnType<typeof startSmtp>>;

const slowMs = 800;

interface SmtpOptions {
  /** Enables STARTTLS with an untrusted certificate. */
  readonly offersTls?: boolean;
  /** Gets each message, which the server then does not keep. */
  readonly onMail?: (mail: ReceivedMail) => void;
}

/** Starts the server on a free port of 127.0.0.1, without authentication. */
export async function startSmtp({ offersTls = false, onMail }: SmtpOptions = {}) {
  const messages: ReceivedMail[] = [];
  let connections = 0;
  const failing = new Map<string, 451 | 550 | 'hang'>();
  const attempts = new Map<string, number>();
  let hanging: ((error: Error) => void)[] = [];
  const refused = (code: number, address: string) =>
    Object.assign(new Error(`no ${code} for ${address}`), { responseCode: code });
  let trouble: MailTrouble | undefined;
  const sockets = new Set<Socket>();

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: offersTls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onRcptTo({ address }, _session, done) {
      attempts.set(address, (attempts.get(address) ?? 0) + 1);
      const code = failing.get(address);
      if (code === 'hang') return void hanging.push(done);
      const refusal = trouble === 'refusing' ? 451 : code;
      done(refusal && refused(refusal, address));
    },
    async onData(stream, session, done) {
      const raw = await new Response(stream as unknown as BodyInit).text().catch(() => undefined);
      // The connection has broken before the end of the message, so nobody waits for a reply.
      if (raw === undefined) return;
      if (trouble === 'slow') await Bun.sleep(slowMs);
      const { mailFrom, rcptTo } = session.envelope;
      const message = {
        from: mailFrom ? mailFrom.address : '',
        to: rcptTo.map(({ address }) => address),
        raw,
        at: performance.now(),
      };
      if (onMail) {
        onMail(message);
        return done();
      }
      messages.push(message);
      if (trouble === 'dropping') for (const socket of sockets) socket.destroy();
      else done();
    },
  });
  // A client that disconnects in mid-conversation is not a server failure.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const { port } = server.server.address() as AddressInfo;

  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  closeAtTestEnd(close);
  return {
    /** For LATCHKEY_SMTP_URL. */
    url: `smtp://127.0.0.1:${port}`,
    /** The messages accepted so far, oldest first. */
    messages: messages as readonly ReceivedMail[],
    /** The number of connections accepted so far. */
    connections: () => connections,
    /** Resolves with all messages once there are at least `count`. */
    received: async (count: number): Promise<readonly ReceivedMail[]> => {
      await until(
        () => messages.length >= count,
        () => `${count} mails, of which ${messages.length} arrived`,
      );
      return messages;
    },
    /** Answers every attempt for a recipient with this code, including those that hang; `'hang'` sends no reply. */
    failFor: (recipient: string, code: 451 | 550 | 'hang'): void => {
      failing.set(recipient, code);
      if (code === 'hang') return;
      for (const done of hanging) done(refused(code, recipient));
      hanging = [];
    },
    /** How it treats all mails from now on; undefined ends the trouble. */
    trouble: (how: MailTrouble | undefined): void => {
      trouble = how;
    },
    /** How often a recipient appeared in an envelope so far. */
    attempts: (recipient: string) => attempts.get(recipient) ?? 0,
    close,
  };
}
