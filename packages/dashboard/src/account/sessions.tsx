import { holdsEverything, includesAny } from '@latchkey/contract/scope-names';
import type { Session } from '@latchkey/contract/sessions';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { effect, signal } from '@preact/signals';
import { call, listSessions, type Problem } from '../api.ts';
import { reauthentications } from '../confirm/confirm.tsx';
import { explain } from '../error-messages.ts';
import { browserText } from '../format.ts';
import { counted, fill, fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button } from '../ui/elements.tsx';
import { Details, RelativeTime, Untrusted, UntrustedHint } from '../ui/facts.tsx';
import { browserIcon, phoneIcon, runIcon, terminalIcon } from '../ui/icons.ts';
import { AskingButton, isAsking } from '../ui/question.tsx';
import { List, Row } from '../ui/row.tsx';
import { detectSignOut, runAction, upToDate } from './actions.tsx';
import { AccessDetails, accessText, Claim, loadKnownScopes, OnlyService } from './parts.tsx';
import { finish, Section, sectionData } from './section.tsx';

const words = texts.account.sessions;

/** The user's logins, then the runs, each newest first, once loaded. */
export const sessions = signal<readonly Session[] | undefined>(undefined);
const hasMoreRuns = signal(false);

const busy = busyState();

const initiallyShown = 10;
const showsAll = signal(false);

async function loadSessions(): Promise<Problem | undefined> {
  const list = await detectSignOut(upToDate(listSessions));
  if (!list.ok) return list.problem;
  // Only a narrow session needs the sentences of scopes. If they can't be loaded, the list shows the names of scopes.
  if (list.value.sessions.some(isNarrow)) await loadKnownScopes();
  sessions.value = list.value.sessions;
  hasMoreRuns.value = list.value.next_cursor !== null;
  return undefined;
}

const isNarrow = ({ scope, resource }: Session): boolean =>
  !holdsEverything(scope) || includesAny(scope, ['identity']) || resource !== null;

export const sessionsData = sectionData('sessions', texts.account.sections.sessions, loadSessions);

// Confirming one's identity replaces the current session.
effect(() => {
  if (reauthentications.value > 0) void loadSessions();
});

/** Ends a session. One that has already ended counts as success: what else has ended elsewhere is then not shown, either. */
async function end(ended: Session): Promise<Problem | undefined> {
  const result = await runAction(() => call('revokeSession', { params: { id: ended.id } }));
  if (!result.ok) return result.problem.code === 'not_found' ? loadSessions() : result.problem;
  sessions.value = sessions.value?.filter(({ id, within }) => id !== ended.id && !within?.includes(ended.id));
  return undefined;
}

async function endOne(session: Session, done: string): Promise<string | undefined> {
  const problem = await end(session);
  return problem ? explain(problem) : finish('sessions', done);
}

/**
 * Ends these sessions, one after the other, including those started since the page was opened.
 * @param done what is said afterwards, unless others are left
 */
async function endAll(isEnded: (session: Session) => boolean, done: string): Promise<string | undefined> {
  let problem = await loadSessions();
  const ended = sessions.value?.filter(isEnded) ?? [];
  for (const session of ended) problem ??= await end(session);
  problem ??= await loadSessions();
  if (problem) return explain(problem, ended.length > 1 ? { somebody_else: words.somebodyElse } : {});
  const areMore = sessions.value?.some(isEnded) || (hasMoreRuns.value && ended.some(isRun));
  return areMore ? words.moreActive : finish('sessions', done);
}

const isRun = ({ kind }: Session): boolean => kind === 'run';

/** Runs end with the session that they are within. */
const isOther = (session: Session): boolean => !session.current && !isRun(session);

const iconOf = ({ kind, user_agent }: Session): string => {
  if (kind === 'run') return runIcon;
  if (kind === 'device') return terminalIcon;
  return /Mobile|Android/.test(user_agent ?? '') ? phoneIcon : browserIcon;
};

/** A service that the administrator registered and named. */
const isOfService = ({ kind, client_id }: Session): boolean =>
  kind === 'run' || (kind === 'app' && client_id?.startsWith('svc_') === true);

/** What a device or external application says it is called. */
const quotedName = (session: Session): string | null =>
  session.kind === 'browser' || isOfService(session) ? null : (session.device_name ?? session.client_name);

/** A browser is named in words, a device as it names itself, and a run by the service that acts in it. */
function Name({ session }: { session: Session }) {
  const { kind, user_agent, client_name } = session;
  if (kind === 'browser') return browserText(user_agent ?? '') ?? texts.common.browser;
  if (isOfService(session))
    return client_name === null ? words.run : <bdi>{escapeInvisible(client_name)}</bdi>;
  const name = quotedName(session);
  return name === null ? texts.common.device : <Untrusted text={name} />;
}

const Title = ({ session }: { session: Session }) => (
  <>
    <Name session={session} />{' '}
    {session.current ? <span class="badge current">{texts.account.thisSession}</span> : null}
    <OnlyService resource={session.resource} />
  </>
);

const runsWithin = (id: string) => (session: Session) => session.within?.includes(id) ?? false;

/** The runs within a session, with a button for each and for all of them. */
function Runs({ id, runs, titleId }: { id: string; runs: readonly Session[]; titleId: string }) {
  const stopAllId = `end-runs-${titleId}`;
  return (
    <div class="runs">
      <ul class="plain-list" aria-labelledby={titleId}>
        {runs.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
      {runs.length < 2 && !isAsking(stopAllId) ? null : (
        <AskingButton
          id={stopAllId}
          titleId={titleId}
          label={words.stopAll}
          question={words.stopAllQuestion}
          busy={busy}
          onConfirm={() => busy.run(() => endAll(runsWithin(id), words.allStopped))}
        />
      )}
    </div>
  );
}

function SessionRow({ session, runs = [] }: { session: Session; runs?: readonly Session[] }) {
  const titleId = `session-${session.id}`;
  const { device_name, client_name, created_at, user_agent } = session;
  const [label, question, done] = isRun(session)
    ? [words.stop, words.stopQuestion, words.stopped]
    : [words.end, words.question, words.ended];
  const lastUsed = fillParts(texts.account.lastUsed, { time: <RelativeTime at={session.last_used_at} /> });
  return (
    <Row
      titleId={titleId}
      icon={iconOf(session)}
      title={<Title session={session} />}
      below={runs.length === 0 ? null : <Runs id={session.id} runs={runs} titleId={titleId} />}
      action={
        session.current ? null : (
          <AskingButton
            id={`end-${session.id}`}
            titleId={titleId}
            label={label}
            question={fillParts(question, { name: <Name session={session} /> })}
            busy={busy}
            onConfirm={() => busy.run(() => endOne(session, done))}
          />
        )
      }
    >
      {isNarrow(session) ? <p>{accessText(session.scope) || texts.common.nothing}</p> : null}
      <AccessDetails of={session} />
      {isRun(session) ? (
        <p>
          {fillParts(texts.account.started, { time: <RelativeTime at={created_at} /> })}
          {' · '}
          {lastUsed}
        </p>
      ) : (
        <>
          <p>
            {lastUsed}
            {' · '}
            {session.ip_address ?? texts.account.unknownIpAddress}
          </p>
          <Details
            summary={fillParts(words.signedInBy, {
              method: texts.account.methods[session.method],
              time: <RelativeTime at={created_at} />,
            })}
          >
            {device_name === null || client_name === null ? null : (
              <Claim label={texts.common.program} text={client_name} />
            )}
            <Claim label={texts.common.userAgent} text={user_agent} />
            <UntrustedHint />
          </Details>
        </>
      )}
    </Row>
  );
}

/** Shows all sessions and moves the focus to the first new one, since the button is gone. */
function showAll(): void {
  showsAll.value = true;
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`#sessions > li:nth-child(${initiallyShown + 1}) button`)?.focus(),
  );
}

/** The current session, then the newest others, each with the runs within it. Runs within a key come by themselves. */
function SessionList({ all }: { all: readonly Session[] }) {
  const ids = new Set(all.map(({ id }) => id));
  const isBelow = ({ within }: Session) => within?.some((id) => ids.has(id)) ?? false;
  const ordered = all
    .filter((session) => !isBelow(session))
    .sort((one, other) => Number(other.current) - Number(one.current));
  const shown = showsAll.value ? ordered : ordered.slice(0, initiallyShown);
  const runs = all.filter(isRun).length;
  return (
    <>
      {runs === 0 ? null : (
        <p id="runs-summary">
          {hasMoreRuns.value ? fill(words.moreRuns, { count: String(runs) }) : counted(words.runs, runs)}
        </p>
      )}
      <List id="sessions">
        {shown.map((session) => (
          <SessionRow key={session.id} session={session} runs={all.filter(runsWithin(session.id))} />
        ))}
      </List>
      {shown.length < ordered.length ? (
        <Button id="all-sessions" class="plain" onClick={showAll}>
          {fill(words.showAll, { count: String(ordered.length) })}
        </Button>
      ) : null}
      {shown.some((session) => quotedName(session) !== null) ? <UntrustedHint /> : null}
    </>
  );
}

export const Sessions = () => (
  <Section
    data={sessionsData}
    action={
      sessions.value?.some(isOther) ? (
        <AskingButton
          id="sign-out-others"
          label={words.endOthers}
          question={words.endOthersQuestion}
          busy={busy}
          onConfirm={() => busy.run(() => endAll(isOther, words.othersEnded))}
        />
      ) : null
    }
    entries={2}
  >
    <SessionList all={sessions.value ?? []} />
  </Section>
);
