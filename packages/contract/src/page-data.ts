/** The id of the element with what the service says, as JSON, in the HTML of a page that it makes for one request. */
export const pageDataId = 'page-data';
