// Faults that a service meets on every store: of its network, its mail server, its clock and its process.

import type { Disturbance } from '../support/fault-proxy.ts';
import type { MailTrouble, TestSmtp } from '../support/smtp.ts';
import type { ProcessNode } from './process-node.ts';
import type { Fault } from './site.ts';

const disturbances: readonly Disturbance[] = ['cut', 'hang', 'slow', 'reorder', 'half close'];
const troubles: readonly MailTrouble[] = ['slow', 'refusing', 'dropping', 'duplicating'];
const hourMs = 3_600_000;

const always = (): boolean => true;

/** A fault that needs nothing but to be begun and ended. */
export const fault = (
  name: string,
  start: () => unknown,
  end: () => unknown,
  { mayRepeatMails = false, isPossible = always } = {},
): Fault => ({
  name,
  mayRepeatMails,
  isPossible,
  start: async () => void (await start()),
  end: async () => void (await end()),
});

/** `pick` chooses the node that it happens to. */
export function nodeFaults(pick: () => ProcessNode): Fault[] {
  let node: ProcessNode;
  const chosen = (): ProcessNode => {
    node = pick();
    return node;
  };
  return [
    fault(
      'kill -9 of a node',
      () => chosen().kill(),
      () => node.start(),
      { mayRepeatMails: true },
    ),
    fault(
      'SIGTERM to a node under load',
      () => chosen().stop(),
      () => node.start(),
    ),
    fault(
      'descriptors used up',
      () => chosen().limitDescriptors(true),
      () => node.limitDescriptors(false),
      { mayRepeatMails: true },
    ),
    ...disturbances.map((how) =>
      fault(
        `in front of a node: ${how}`,
        () => chosen().front.disturb(how),
        () => node.front.disturb(undefined),
      ),
    ),
  ];
}

/** The clock of one node jumps, while the others are right. */
export const clockFaults = (pick: () => ProcessNode): Fault[] =>
  [hourMs, -hourMs].map((aheadMs) => {
    let node: ProcessNode;
    return fault(
      `clock of a node an hour ${aheadMs > 0 ? 'ahead' : 'back'}`,
      () => {
        node = pick();
        node.setClock(aheadMs);
      },
      () => node.setClock(0),
    );
  });

export const mailFaults = (smtp: TestSmtp): Fault[] =>
  troubles.map((how) =>
    fault(
      `mail server: ${how}`,
      () => smtp.trouble(how),
      () => smtp.trouble(undefined),
      { mayRepeatMails: how === 'dropping' },
    ),
  );
