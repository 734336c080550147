import type { Organization } from '@latchkey/contract/organizations';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { signal } from '@preact/signals';
import { listOrganizations, type Problem } from '../api.ts';
import { explain } from '../error-messages.ts';
import { fillParts, texts } from '../texts.ts';
import { busyState } from '../ui/busy.ts';
import { organizationIcon } from '../ui/icons.ts';
import { ErrorMessage } from '../ui/messages.tsx';
import { Empty, Row } from '../ui/row.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { DateOnly } from '../ui/timestamp.tsx';
import { detectSignOut } from './actions.tsx';
import { Section, SectionContent, sectionData } from './section.tsx';

const organizations = signal<readonly Organization[]>([]);
const cursor = signal<string | null>(null);
const error = signal('');
const busy = busyState();

const words = texts.account.organizations;

async function loadOrganizations(): Promise<Problem | undefined> {
  const list = detectSignOut(await listOrganizations());
  if (!list.ok) return list.problem;
  organizations.value = list.value.organizations;
  cursor.value = list.value.next_cursor;
  return undefined;
}

export const organizationsData = sectionData(
  'organizations',
  texts.account.sections.organizations,
  loadOrganizations,
);

const showMore = (next: string) =>
  busy.run(async () => {
    error.value = '';
    const list = detectSignOut(await listOrganizations(next));
    if (!list.ok) {
      error.value = explain(list.problem);
      return undefined;
    }
    organizations.value = [...organizations.value, ...list.value.organizations];
    cursor.value = list.value.next_cursor;
    return undefined;
  });

const OrganizationItem = ({ organization }: { organization: Organization }) => {
  const { id, name, slug, role, personal, joined_at } = organization;
  const titleId = `organization-${id}`;
  return (
    <li>
      <Row
        titleId={titleId}
        icon={organizationIcon}
        title={
          <>
            <bdi>{escapeInvisible(name)}</bdi> <span class="badge">{words.roles[role]}</span>{' '}
            {personal ? <span class="badge">{words.personal}</span> : null}
          </>
        }
      >
        <p>
          <bdi>{slug}</bdi> · {fillParts(texts.account.joined, { time: <DateOnly at={joined_at} /> })}
        </p>
      </Row>
    </li>
  );
};

/** The organizations the user belongs to, with their role in each. */
export const Organizations = () => (
  <Section data={organizationsData} title={texts.account.sections.organizations}>
    <SectionContent data={organizationsData} entries={1}>
      {organizations.value.length === 0 ? (
        <Empty icon={organizationIcon}>
          <p>{words.none}</p>
        </Empty>
      ) : (
        <ul id="organizations" class="plain-list">
          {organizations.value.map((organization) => (
            <OrganizationItem key={organization.id} organization={organization} />
          ))}
        </ul>
      )}
      <ErrorMessage id="organizations-error" text={error.value} />
      <ShowMore
        id="more-organizations"
        cursor={cursor.value}
        isBusy={busy.now.value}
        onMore={(next) => void showMore(next)}
      />
    </SectionContent>
  </Section>
);
