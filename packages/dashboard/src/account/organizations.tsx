import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { fillParts, texts } from '../texts.ts';
import { DateOnly } from '../ui/facts.tsx';
import { organizationIcon } from '../ui/icons.ts';
import { List, Row } from '../ui/row.tsx';
import { listOrganizations } from './requests.ts';
import { pagedData, Section, ShowMore } from './section.tsx';

const words = texts.account.organizations;

export const organizationsData = pagedData(
  'organizations',
  texts.account.sections.organizations,
  listOrganizations,
);
const { entries: organizations } = organizationsData;

export const Organizations = () => (
  <Section data={organizationsData} entries={1}>
    <List id="organizations" none={{ icon: organizationIcon, text: words.none }}>
      {organizations.value.map(({ id, name, slug, role, personal, joined_at }) => (
        <Row
          key={id}
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
      ))}
    </List>
    <ShowMore data={organizationsData} />
  </Section>
);
