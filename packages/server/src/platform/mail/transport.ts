import nodemailer from 'nodemailer';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { logoContentId, mailLogo } from './layout.ts';
import type { Message } from './message.ts';

/**
 * Timeouts for the mail server to accept a connection, to greet, and to send anything later, in milliseconds.
 */
const patience = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 20_000 };

/** How many mails are sent at the same time, each over its own connection. */
export const maxConnections = 12;

/** Sends mails. `deliver` resolves when the other side has accepted responsibility for the mail. */
export interface Transport {
  deliver(id: string, recipient: string, message: Message): Promise<void>;
  close(): void;
}

/**
 * Sign-in links leave this machine only over TLS: `smtp://` requires STARTTLS, and a mail server without it
 * is refused unless it runs on this machine.
 */
const connectionOptions = (smtpUrl: string) => ({
  url: smtpUrl,
  requireTLS: !isLoopbackHost(new URL(smtpUrl).hostname),
  ...patience,
});

/** Sends by SMTP. The message id is the outbox id, so mail programs recognize a mail resent after a crash. */
export function smtpTransport(config: Config, smtpUrl: string, limits = patience): Transport {
  const smtp = nodemailer.createTransport({
    ...connectionOptions(smtpUrl),
    ...limits,
    pool: true,
    maxConnections,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const host = new URL(config.baseUrl).hostname;
  const logo = mailLogo(config.product);
  const attachments = logo && [
    {
      cid: logoContentId,
      content: Buffer.from(logo.bytes),
      contentType: logo.type,
      contentDisposition: 'inline' as const,
      filename: 'logo.png',
    },
  ];
  return {
    deliver: async (id, recipient, message) => {
      await smtp.sendMail({
        from: config.mailFrom,
        to: { name: '', address: recipient },
        messageId: `<${id}@${host}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...message,
        ...(attachments ? { attachments } : {}),
      });
    },
    close: () => smtp.close(),
  };
}

/**
 * Connects and authenticates to the mail server without sending anything.
 * @throws {Error} when the server does not respond or refuses the credentials
 */
export async function reachSmtp(smtpUrl: string): Promise<void> {
  const smtp = nodemailer.createTransport(connectionOptions(smtpUrl));
  await smtp.verify().finally(() => smtp.close());
}

/** The transport of the development mailbox: mails are marked as sent, and rendered when they are read. */
export const mailboxTransport: Transport = { deliver: async () => undefined, close: () => undefined };
