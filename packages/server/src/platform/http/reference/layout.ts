import { type EndpointGroup, endpointGroups } from '@latchkey/contract/endpoint-groups';
import { escapeHtml } from '../../values/html.ts';
import { referenceAssets } from '../pages.ts';
import { groupPath, groups, type Reference } from './document.ts';
import { searchIndex } from './search-index.ts';

export interface Heading {
  readonly id: string;
  readonly title: string;
}

interface PageParts {
  readonly title: string;
  /** Undefined for the overview. */
  readonly group: EndpointGroup | undefined;
  /** What the navigation shows below the entry of this page. */
  readonly headings: readonly Heading[];
  readonly main: string;
}

/** A page of the reference. Without its script it can be read; with it, it can be searched. */
export function page(reference: Reference, { title, group, headings, main }: PageParts): string {
  const name = `${escapeHtml(reference.title)} API`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="{{icon}}">
<link rel="stylesheet" href="/assets/${referenceAssets.style}">
<script type="module" src="/assets/${referenceAssets.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<button type="button" class="menu" popovertarget="contents">Menu</button>
<a class="home" href="/docs">{{logo}} ${name} <span class="version">${escapeHtml(reference.version)}</span></a>
<button type="button" class="search" hidden>Search <kbd>/</kbd></button>
</header>
<div class="columns">
<nav id="contents" popover aria-label="Reference">
${navigation(group, headings)}
</nav>
<main id="main" tabindex="-1">
${main}
</main>
</div>
<template id="finder"><dialog class="finder" aria-label="Search the reference">
<div role="search"><input type="search" aria-label="Search endpoints and fields" placeholder="Search endpoints and fields" autocomplete="off" spellcheck="false"><button type="button">Close</button><p class="note" role="status"></p></div>
<ul></ul>
</dialog></template>
<script type="application/json" id="search-index">${searchData(reference)}</script>
</body>
</html>
`;
}

/** Data and not a script: a policy without inline scripts allows it. */
const searchData = (reference: Reference): string =>
  JSON.stringify(searchIndex(reference)).replaceAll('<', '\\u003c');

function navigation(shown: EndpointGroup | undefined, headings: readonly Heading[]): string {
  const inPage = `<ul>${headings.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`).join('')}</ul>`;
  const entry = (path: string, title: string, isShown: boolean) =>
    `<li><a href="${path}"${isShown ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a>${isShown ? inPage : ''}</li>`;
  const entries = groups.map((group) =>
    entry(groupPath(group), endpointGroups[group].title, group === shown),
  );
  return `<ul>${entry('/docs', 'Overview', shown === undefined)}${entries.join('')}</ul>`;
}
