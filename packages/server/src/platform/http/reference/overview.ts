import { endpointGroups } from '@latchkey/contract/endpoint-groups';
import { escapeHtml } from '../../values/html.ts';
import { groupPath, groups, operationsIn, type Reference } from './document.ts';
import { page } from './layout.ts';
import { overviewTopics } from './overview-topics.ts';
import { example, topicSection } from './topics.ts';

/** The first page: what holds for every endpoint, and where each group is. */
export function overviewPage(reference: Reference): string {
  const topics = overviewTopics(reference.server);
  return page(reference, {
    title: `${reference.title} API`,
    group: undefined,
    headings: topics,
    main: `<div class="intro">
<div class="text"><h1>${escapeHtml(reference.title)} API</h1>
<p class="lead">Sign-in for a coding-session platform: device codes for programs, emailed links and passkeys for people, and tokens that services can rely on.</p>
<p>Everything here is also an <a href="/openapi.json">OpenAPI document</a>. Standard OAuth clients can configure themselves from the <a href="/.well-known/oauth-authorization-server">authorization server metadata</a>.</p></div>
<div class="examples">${example('Base URL', reference.server, 'text')}</div>
</div>
<ul class="cards">${groups.map((group) => card(reference, group)).join('')}</ul>
${topics.map(topicSection).join('\n')}`,
  });
}

function card(reference: Reference, group: (typeof groups)[number]): string {
  const { title, description } = endpointGroups[group];
  const [first = ''] = /^.*?\.(?= |$)/.exec(description) ?? [];
  const count = operationsIn(reference, group).length;
  const size = count === 0 ? 'Guide' : `${count} ${count === 1 ? 'endpoint' : 'endpoints'}`;
  return `<li><a href="${groupPath(group)}"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(first)}</span><small>${size}</small></a></li>`;
}
