import { type EndpointGroup, endpointGroups } from '@latchkey/contract/endpoint-groups';
import { escapeHtml } from '../../values/html.ts';
import { referenceAssets } from '../pages.ts';
import type { Reference, ReferenceOperation } from './document.ts';
import { breakable, example, prose, verb } from './markup.ts';
import { operationSection } from './operation.ts';
import { overviewTopics, type Topic } from './overview-topics.ts';

/** A part of the page: its heading in the page and in the navigation, and what is below it. */
interface Part {
  readonly id: string;
  readonly title: string;
  readonly intro: string;
  readonly entries: readonly { readonly id: string; readonly title: string; readonly html: string }[];
}

/** The API reference, as one page that the browser can search: what holds for every endpoint, then each group. */
export function referencePage(reference: Reference): string {
  const name = `${escapeHtml(reference.title)} API`;
  const parts = [conventions(reference), ...groupsOf(reference)];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="{{icon}}">
<link rel="stylesheet" href="/assets/${referenceAssets.style}">
<script type="module" src="/assets/${referenceAssets.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<button type="button" class="menu" popovertarget="contents">Menu</button>
<a class="home" href="/docs">{{logo}} ${name} <span class="version">${escapeHtml(reference.version)}</span></a>
</header>
<div class="columns">
<nav id="contents" popover aria-label="Reference">
<ul>${parts.map((part) => link(part, `<ul>${part.entries.map((entry) => link(entry)).join('')}</ul>`)).join('')}</ul>
</nav>
<main id="main" tabindex="-1">
<div class="intro">
<div class="text"><h1>${name}</h1>
<p class="lead">Sign-in for a coding-session platform: device codes for programs, emailed links and passkeys for people, and tokens that services can rely on.</p>
<p>Everything here is also an <a href="/openapi.json">OpenAPI document</a>. Standard OAuth clients can configure themselves from the <a href="/.well-known/oauth-authorization-server">authorization server metadata</a>.</p></div>
<div class="examples">${example('Base URL', reference.server, 'text')}</div>
</div>
${parts.map(partHtml).join('\n')}
</main>
</div>
</body>
</html>
`;
}

const link = ({ id, title }: { id: string; title: string }, below = ''): string =>
  `<li><a href="#${id}">${escapeHtml(title)}</a>${below}</li>`;

const partHtml = ({ id, title, intro, entries }: Part): string => `<div class="intro" id="${id}">
<div class="text"><h2>${escapeHtml(title)}</h2>${intro}
</div>
${entries.map(({ html }) => html).join('\n')}`;

const conventions = ({ server }: Reference): Part => ({
  id: 'conventions',
  title: 'Conventions',
  intro: '<p class="lead">What holds for every endpoint.</p></div>',
  entries: overviewTopics(server).map((topic) => ({ ...topic, html: topicSection(topic) })),
});

const topicSection = ({
  id,
  title,
  text,
  examples,
}: Topic): string => `<section id="${id}" aria-labelledby="${id}-title">
<div class="text"><h3 id="${id}-title"><a href="#${id}">${escapeHtml(title)}</a></h3>
${text}</div>
${examples === undefined ? '' : `<div class="examples">${examples}</div>`}
</section>`;

const groupsOf = (reference: Reference): Part[] =>
  (Object.keys(endpointGroups) as EndpointGroup[]).map((group) => {
    const { title, description } = endpointGroups[group];
    const operations = reference.operations.filter((operation) => operation.group === group);
    return {
      id: group,
      title,
      intro: `<p class="lead">${prose(description)}</p></div>\n${routeList(operations)}`,
      entries: operations.map((operation) => ({
        ...operation,
        html: operationSection(operation, reference),
      })),
    };
  });

function routeList(operations: readonly ReferenceOperation[]): string {
  const items = operations.map(
    ({ id, method, path }) => `<li><a href="#${id}">${verb(method)} <code>${breakable(path)}</code></a></li>`,
  );
  return `<div class="examples"><h3>Endpoints</h3><ul class="routes">${items.join('')}</ul></div>`;
}
