// Random sequences of what people, devices and services do with one account, checked against a small model of it: the guarantees of
// the service hold in any order, with any repetition, at any time and for any scope. Only steps move the clock.

import { beforeAll, test } from 'bun:test';
import { type Drawn, draws } from '#support/account-draws.ts';
import { builds } from '#support/account-model.ts';
import { credentialOf, newest, pick, Run, type Surroundings } from '#support/account-run.ts';
import { onBothDatabases, sharedNodes } from '#support/app.ts';
import { redirectUri } from '#support/authorize.ts';
import fc from '#support/fc.ts';
import { isLong } from '#support/long.ts';
import { seed } from '#support/seed.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';

type Step = (run: Run, drawn: Drawn) => unknown;

/** What is done, with how often in the sequences about tokens and in those about "this was not me". */
const steps: Readonly<Record<string, readonly [tokens: number, disowning: number, step: Step]>> = {
  'request a link': [2, 3, (run) => run.requestLink()],
  'sign in': [2, 3, (run, { place }) => run.signIn(place)],
  'sign in as a page': [0, 4, (run, drawn) => run.signInAsPage(drawn)],
  'use a link': [4, 1, (run, drawn) => run.useLink(pick(run.links, drawn.link)!, drawn)],
  'add a passkey': [0, 4, (run, drawn) => run.addPasskey(drawn)],
  'use a passkey': [0, 4, (run, { nth, place }) => run.signInWithPasskey(pick(run.passkeys, nth), place)],
  'remove a passkey': [0, 1, (run, drawn) => run.removePasskey(run.by(drawn), pick(run.passkeys, drawn.nth))],
  refresh: [10, 2, (run, drawn) => run.refresh(run.by(drawn), drawn)],
  steal: [0, 1, (run, drawn) => run.steal(drawn)],
  use: [1, 0, (run, drawn) => run.checkCalls(run.by(drawn))],
  'end this': [3, 1, (run, drawn) => run.endThis(run.by(drawn), drawn)],
  'end other': [1, 1, (run, drawn) => run.endOther(run.by(drawn), pick(run.sessions, drawn.other)!)],
  'end all': [1, 0, (run, drawn) => run.endAll(run.by(drawn), drawn)],
  'give back': [1, 0, (run, drawn) => run.giveBack(run.by(drawn), drawn)],
  'make a key': [3, 2, (run, drawn) => run.makeKey(run.by(drawn), drawn)],
  'start a run': [6, 2, (run, drawn) => run.startRun(run.by(drawn), drawn)],
  'start a good run': [
    0,
    6,
    (run, drawn) => run.startRun(run.by(drawn), { ...drawn, access: { scope: 'profile' } }),
  ],
  'start a late run': [2, 0, (run, drawn) => run.startLateRun(run.by(drawn), drawn)],
  'keep a run': [2, 0, (run, drawn) => run.keepRun(drawn)],
  'sign a device in': [3, 4, (run, drawn) => run.signDeviceIn(run.by(drawn), drawn)],
  'start a device': [4, 2, (run, drawn) => run.startDevice(drawn)],
  decide: [6, 2, (run, drawn) => run.decide(run.by(drawn), pick(run.devices, drawn.device)!, drawn)],
  cancel: [2, 0, (run, drawn) => run.cancel(pick(run.devices, drawn.device)!)],
  poll: [10, 1, (run, drawn) => run.poll(pick(run.devices, drawn.device)!, drawn)],
  'approve an application': [0, 4, (run, drawn) => run.approveApp(drawn)],
  'redeem a code': [0, 4, (run, { device }) => run.redeem(pick(run.codes, device))],
  'change the address': [0, 8, (run, drawn) => run.takeAddress(drawn)],
  'receive mail': [0, 2, (run) => run.receiveMail()],
  'use a notice': [0, 8, (run, drawn) => run.useNotice(drawn)],
  sweep: [0, 1, (run) => run.sweep()],
  disable: [1, 0, (run) => run.disable(true)],
  enable: [3, 0, (run) => run.disable(false)],
  wait: [4, 0, (run, { seconds }) => run.wait(seconds)],
  leap: [0, 1, (run, { leap }) => run.leap(leap)],
};

const stepOf = (weightOf: (step: (typeof steps)[string]) => number) =>
  fc.oneof(
    ...Object.entries(steps).map(([name, step]) => ({
      weight: weightOf(step),
      arbitrary: fc.record({ name: fc.constant(name), drawn: fc.record(draws) }),
    })),
  );

onBothDatabases('any sequence of steps', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const nodes = [...new Set([app, node])];
  const clock = { now: 0 };
  let around: Surroundings;
  let people = 0;
  beforeAll(async () => {
    const ofTickets = await declareService(app.ctx, ticketsDeclared);
    const rights = ['users', 'delegate'] as const;
    const agents = await declareService(app.ctx, { name: 'Agents', rights, redirectUris: [redirectUri] });
    around = { nodes, clock, services: [ofTickets, agents] };
    await declareService(app.ctx, { name: 'Builds', resource: builds });
    clock.now = app.ctx.clock();
    for (const { ctx } of nodes) Object.assign(ctx, { clock: () => clock.now });
  });

  const start = async () => {
    const run = new Run(around, `person-${people++}`);
    await run.signIn(0);
    const sent = credentialOf(newest(run.sessions[0]!));
    run.userId = (await run.app.ask('GET', '/me', sent)).body.id;
    await run.startDevice({ access: {}, way: 'JSON' });
    return run;
  };

  test('no token, code or link has a second effect, no ended session works again, and no token does more than its scope and its maker', async () => {
    const sequences = fc.array(
      stepOf(([tokens]) => tokens),
      { minLength: 20, maxLength: 60, size: 'max' },
    );
    const property = fc.asyncProperty(sequences, async (sequence) => {
      const run = await start();
      for (const { name, drawn } of sequence) {
        run.wait(drawn.lapse);
        await steps[name]![2](run, drawn);
      }
      await run.checkAll();
    });
    await fc.assert(property, { numRuns: isLong ? 300 : 54 });
  });

  /** Each is a test of its own, so that none takes long. */
  const rounds = Array.from({ length: isLong ? 12 : 1 }, (_, round) => round);

  test.each(rounds)('"this was not me" undoes everything since, and nothing before (%d)', async (round) => {
    const sequences = fc.array(
      stepOf(([, disowning]) => disowning),
      { minLength: 30, maxLength: 70 },
    );
    const property = fc.asyncProperty(sequences, async (sequence) => {
      const run = await start();
      for (const { name, drawn } of sequence) {
        await steps[name]![2](run, drawn);
        await run.readNotices();
      }
      await run.checkUndone();
      await run.checkClosed();
    });
    await fc.assert(property, { numRuns: dialect === 'sqlite' ? 25 : 10, seed: (seed + round) | 0 });
  });
});
