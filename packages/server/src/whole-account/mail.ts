import type { DisownedNotice } from '@latchkey/contract/notices';
import { composeMessage, type Fact, type Part, writerFor } from '../platform/mail/compose.ts';
import type { Template } from '../platform/mail/message.ts';
import { findDisownedNotice, referenceOf, writerForOwner } from '../security-log/notices/notices.ts';
import type { EndedSession } from '../sessions/ending.ts';

export const disownedTemplate = 'disowned';
export const accountDeletedTemplate = 'account_deleted';

const count = (label: string, number: number): Fact[] =>
  number === 0 ? [] : [{ label, value: String(number) }];

/** The mail to the owner about what the link of a notice undid. */
export const disownedMail: Template = async (ctx, mail) => {
  const { reference, language } = referenceOf(mail);
  const notice = await findDisownedNotice(ctx.db.read, reference);
  if (!notice) return undefined;
  const writer = await writerForOwner(ctx, notice.user_id, language);
  const texts = writer.texts.disowned;
  const undone = readUndone(notice.outcome);
  const named = [...undone.device_names, ...undone.passkeys_removed, ...undone.keys_removed];
  const facts: Fact[] = [
    ...count(texts.sessions, undone.sessions_ended),
    ...count(texts.devices, undone.devices_ended),
    ...undone.device_names.map((claimed) => ({ label: texts.device, claimed })),
    ...undone.passkeys_removed.map((claimed) => ({ label: texts.passkey, claimed })),
    ...undone.keys_removed.map((claimed) => ({ label: texts.key, claimed })),
    ...count(texts.runs, undone.runs_ended),
    ...count(texts.links, undone.links_voided),
    ...(undone.email === null ? [] : [{ label: texts.address, value: undone.email }]),
  ];
  const parts: Part[] = [
    writer.fill(texts.what, { time: writer.when(notice.created_at) }),
    ...(facts.length === 0 ? [texts.nothing] : [texts.undone, { facts }]),
    ...(named.length === 0 ? [] : [writer.texts.quotesExplained]),
    undone.email === null ? texts.olderContinue : texts.allEnded,
    texts.review,
    texts.notYou,
  ];
  return composeMessage(writer, writer.fill(texts.subject), parts);
};

/** The last mail to a deleted account. There is no row left to fill it from: its reference is the language of its reader. */
export const accountDeletedMail: Template = async ({ config: { product } }, { reference: locale }) => {
  const writer = writerFor(product, { locale, time_zone: null });
  const { subject, what, next } = writer.texts.accountDeleted;
  return composeMessage(writer, writer.fill(subject), [writer.fill(what), next]);
};

/** What the link of a notice has undone so far, as the notice's row stores it in JSON. */
export type Undone = Omit<DisownedNotice, 'kind' | 'approver'>;

/** Reads a stored outcome. Those of earlier releases count neither runs nor links. */
export function readUndone(stored: string): Undone {
  const undone = JSON.parse(stored) as Undone & Partial<Pick<Undone, 'runs_ended' | 'links_voided'>>;
  return { ...undone, runs_ended: undone.runs_ended ?? 0, links_voided: undone.links_voided ?? 0 };
}

type Named = Pick<EndedSession, 'client_name' | 'device_name'>;

const namesOf = (things: readonly Named[]): string[] =>
  things.flatMap(({ device_name, client_name }) => device_name ?? client_name ?? []);

/** `approvals` are those that no device or application had used yet, `links` how many were open. */
export function undoneOf(
  email: string | null,
  ended: readonly EndedSession[],
  approvals: readonly Named[],
  passkeys: readonly { readonly name: string }[],
  links: number,
): Undone {
  const of = (...kinds: EndedSession['kind'][]) => ended.filter(({ kind }) => kinds.includes(kind));
  const devices = [...of('device', 'app'), ...approvals];
  return {
    email,
    sessions_ended: of('browser').length,
    devices_ended: devices.length,
    device_names: namesOf(devices),
    passkeys_removed: passkeys.map(({ name }) => name),
    keys_removed: namesOf(of('key')),
    runs_ended: of('run').length,
    links_voided: links,
  };
}

/** What two uses of one link undid together. */
export const mergeUndone = (one: Undone | undefined, other: Undone): Undone =>
  one === undefined
    ? other
    : {
        email: other.email ?? one.email,
        sessions_ended: one.sessions_ended + other.sessions_ended,
        devices_ended: one.devices_ended + other.devices_ended,
        device_names: [...one.device_names, ...other.device_names],
        passkeys_removed: [...one.passkeys_removed, ...other.passkeys_removed],
        keys_removed: [...one.keys_removed, ...other.keys_removed],
        runs_ended: one.runs_ended + other.runs_ended,
        links_voided: one.links_voided + other.links_voided,
      };
