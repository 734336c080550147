import type { Organization } from '@latchkey/contract/organizations';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { listOrganizations } from '../api.ts';
import { fillParts, texts } from '../texts.ts';
import { organizationIcon } from '../ui/icons.ts';
import { List, Row } from '../ui/row.tsx';
import { DateOnly } from '../ui/timestamp.tsx';
import { pagedData, Section, SectionContent, ShowMore } from './section.tsx';

const words = texts.account.organizations;

export const organizationsData = pagedData(
  'organizations',
  texts.account.sections.organizations,
  listOrganizations,
);
const { entries: organizations } = organizationsData;

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
      <List id="organizations" icon={organizationIcon} none={words.none}>
        {organizations.value.map((organization) => (
          <OrganizationItem key={organization.id} organization={organization} />
        ))}
      </List>
      <ShowMore data={organizationsData} />
    </SectionContent>
  </Section>
);
