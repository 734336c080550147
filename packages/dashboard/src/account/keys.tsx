import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CreatedKey, Key, KeyTrust } from '@latchkey/contract/keys';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { call, type Problem } from '../api.ts';
import { explain } from '../error-messages.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { Button } from '../ui/elements.tsx';
import { RelativeTime } from '../ui/facts.tsx';
import { keyIcon } from '../ui/icons.ts';
import { AskingButton } from '../ui/question.tsx';
import { List, Row } from '../ui/row.tsx';
import { detectSignOut, runAction } from './actions.tsx';
import { CreatedKeyView, isFormOpen, isKeyShown, NewKeyForm, openForm } from './new-key.tsx';
import { AccessDetails, accessText, loadKnownScopes, OnlyService, Use } from './parts.tsx';
import { finish, Section, sectionData } from './section.tsx';

const words = texts.account.keys;

const keys = signal<readonly Key[]>([]);
const busy = busyState();

async function loadKeys(): Promise<Problem | undefined> {
  // One page holds as many as an account may have.
  const listing = detectSignOut(call('listKeys', { query: { limit: String(fieldLimits.keys) } }));
  const [list, problem] = await Promise.all([listing, loadKnownScopes()]);
  if (!list.ok) return list.problem;
  keys.value = list.value.keys;
  return problem;
}

export const keysData = sectionData('keys', texts.account.sections.keys, loadKeys);

function add({ key, ...created }: CreatedKey): void {
  keys.value = [created, ...keys.value];
  if (key !== undefined) return;
  finish('keys', fill(words.created, { name: created.name }));
}

const remove = (removed: Key) =>
  busy.run(async () => {
    const result = await runAction(() => call('removeKey', { params: { id: removed.id } }));
    // A key that is already gone counts as removed.
    if (!result.ok && result.problem.code !== 'not_found') return explain(result.problem);
    keys.value = keys.value.filter(({ id }) => id !== removed.id);
    return finish('keys', fill(words.removed, { name: removed.name }));
  });

/** What a job needs to use a key without a secret. */
const Trust = ({ id, trust: { issuer, claims } }: { id: string; trust: KeyTrust }) => (
  <>
    <p>
      {fillParts(words.trusts, {
        id: <code translate={false}>{id}</code>,
        issuer: <bdi>{escapeInvisible(issuer)}</bdi>,
      })}
    </p>
    <ul>
      {Object.entries(claims).map(([name, value]) => (
        <li key={name}>
          <code translate={false}>
            <bdi>{escapeInvisible(`${name}=${value}`)}</bdi>
          </code>
        </li>
      ))}
    </ul>
  </>
);

function KeyRow({ item }: { item: Key }) {
  const titleId = `key-${item.id}`;
  const name = <bdi>{escapeInvisible(item.name)}</bdi>;
  return (
    <Row
      titleId={titleId}
      icon={keyIcon}
      title={
        <>
          {name} <OnlyService resource={item.resource} />
        </>
      }
      action={
        <AskingButton
          id={`remove-${item.id}`}
          titleId={titleId}
          label={texts.account.remove}
          question={fillParts(words.question, { name })}
          confirm={words.remove}
          busy={busy}
          onConfirm={() => remove(item)}
        />
      }
    >
      <p>{accessText(item.scope) || words.nothing}</p>
      <AccessDetails of={item} />
      {item.trust ? <Trust id={item.id} trust={item.trust} /> : null}
      <p>
        <Use item={item} />
        {' · '}
        {fillParts(texts.account.expires, { time: <RelativeTime at={item.expires_at} /> })}
      </p>
    </Row>
  );
}

const CreateButton = () =>
  isFormOpen() || isKeyShown() ? null : (
    <Button id="create-key" busy={busy} onClick={openForm}>
      {words.create}
    </Button>
  );

export const Keys = () => (
  <Section data={keysData} action={<CreateButton />} entries={1}>
    {isKeyShown() ? <CreatedKeyView /> : null}
    {isFormOpen() ? <NewKeyForm onCreated={add} /> : null}
    <List id="keys" none={isFormOpen() ? undefined : { icon: keyIcon, text: words.none }}>
      {keys.value.map((item) => (
        <KeyRow key={item.id} item={item} />
      ))}
    </List>
  </Section>
);
