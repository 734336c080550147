import { pageDataId } from '@latchkey/contract/page-data';

/** What the service says about the request in the HTML of this page, which it made for that. Read it before the page is mounted. */
export const pageData = <Data>(): Data =>
  JSON.parse(document.getElementById(pageDataId)?.textContent ?? '') as Data;
