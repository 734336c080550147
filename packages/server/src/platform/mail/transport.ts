import nodemailer from 'nodemailer';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import type { Message } from './message.ts';

const connectionTimeoutMs = 5_000;
const greetingTimeoutMs = 5_000;
const socketTimeoutMs = 20_000;
/** How many mails are handed over at once, each on a connection of its own. */
export const maxConnections = 8;

/** Hands a mail over; resolves when the other side has taken responsibility for it. */
export interface Transport {
  deliver(id: string, recipient: string, message: Message): Promise<void>;
  close(): void;
}

/**
 * How a mail server is spoken to. Links that sign people in leave this machine under TLS only: `smtp://` means
 * STARTTLS, and a server that does not offer it is not used, unless it is on this machine.
 */
const connectionOf = (smtpUrl: string) => ({
  url: smtpUrl,
  requireTLS: !isLoopbackHost(new URL(smtpUrl).hostname),
  connectionTimeout: connectionTimeoutMs,
  greetingTimeout: greetingTimeoutMs,
  socketTimeout: socketTimeoutMs,
});

/** Mails by SMTP. The message id is the outbox's, so that a mail sent twice after a crash can be known as one. */
export function smtpTransport(config: Config, smtpUrl: string): Transport {
  const smtp = nodemailer.createTransport({
    ...connectionOf(smtpUrl),
    pool: true,
    maxConnections,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const host = new URL(config.baseUrl).hostname;
  return {
    deliver: async (id, recipient, message) => {
      await smtp.sendMail({
        from: config.mailFrom,
        to: { name: '', address: recipient },
        messageId: `<${id}@${host}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...message,
      });
    },
    close: () => smtp.close(),
  };
}

/**
 * Greets the mail server and logs in to it, without sending anything.
 * @throws {Error} when it does not answer or does not let us in
 */
export async function reachSmtp(smtpUrl: string): Promise<void> {
  const smtp = nodemailer.createTransport(connectionOf(smtpUrl));
  await smtp.verify().finally(() => smtp.close());
}

/** The development mailbox: a mail is delivered by being marked as sent; the page fills it in when it is read. */
export const mailboxTransport: Transport = { deliver: async () => undefined, close: () => undefined };
