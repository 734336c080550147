import type { AuthorizationResponse, AuthorizationSource } from './authorize.ts';
import type { ErrorCode } from './errors.ts';

/** The id of the element with what the service says, as JSON, in the HTML of a page that it makes for one request. */
export const pageDataId = 'page-data';

/** A request that could not be looked at. */
export interface FailedPage {
  readonly outcome: 'failed';
  readonly problem: { readonly code: ErrorCode; readonly retryAfterSeconds?: number };
}

/**
 * What the HTML of the page for an authorization request says about it, before anybody has signed in: `unknown` is for no
 * client that could get a response, `refused` for one that gets an error.
 */
export type AuthorizationPage =
  | { readonly outcome: 'unknown'; readonly message: string }
  | FailedPage
  | (AuthorizationSource & {
      readonly outcome: 'refused';
      readonly message: string;
      readonly response: AuthorizationResponse;
    })
  | (AuthorizationSource & { readonly outcome: 'valid' });
