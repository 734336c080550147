import { type EndpointGroup, endpointGroups } from '@latchkey/contract/endpoint-groups';
import { escapeHtml } from '../../values/html.ts';
import { operationsIn, type Reference, type ReferenceOperation } from './document.ts';
import { guideOf } from './guides.ts';
import { page } from './layout.ts';
import { breakable, prose, verb } from './markup.ts';
import { operationSection } from './operation.ts';
import { topicSection } from './topics.ts';

/** The page of a group: its operations, one below the other. */
export function groupPage(reference: Reference, group: EndpointGroup): string {
  const { title, description } = endpointGroups[group];
  const operations = operationsIn(reference, group);
  const topics = guideOf(group, reference.server);
  return page(reference, {
    title: `${title} - ${reference.title} API`,
    group,
    headings: [...topics, ...operations],
    main: `<div class="intro">
<div class="text"><h1>${escapeHtml(title)}</h1><p class="lead">${prose(description)}</p></div>
${contents(operations)}
</div>
${topics.map(topicSection).join('\n')}
${operations.map((operation) => operationSection(operation, reference)).join('\n')}`,
  });
}

function contents(operations: readonly ReferenceOperation[]): string {
  if (operations.length === 0) return '';
  const items = operations.map(
    ({ id, method, path }) => `<li><a href="#${id}">${verb(method)} <code>${breakable(path)}</code></a></li>`,
  );
  return `<div class="examples"><h2>Endpoints</h2><ul class="routes">${items.join('')}</ul></div>`;
}
