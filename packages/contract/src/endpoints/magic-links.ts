import { at, define } from '../endpoint.ts';
import {
  magicLinkPreview,
  magicLinkRequest,
  magicLinkSent,
  magicLinkToken,
  magicLinkVerification,
} from '../magic-links.ts';
import { cookieSignIn, signInQuery, tokenSet } from '../tokens.ts';

export const magicLinkEndpoints = {
  requestMagicLink: define({
    ...at('sign-in-links', 'post', '/magic_link'),
    title: 'Email a sign-in link',
    access: 'anyone',
    summary: 'Emails a sign-in link and a sign-in code',
    notes: 'The response is the same whether or not the account exists.',
    headers: {
      'Accept-Language':
        'The languages that the user reads. The email is in one of them if the profile of the account has no `locale`, or there is no account.',
    },
    body: magicLinkRequest,
    status: 202,
    response: magicLinkSent,
    errors: { rate_limited: true },
  }),
  previewMagicLink: define({
    ...at('sign-in-links', 'post', '/magic_link/preview'),
    title: 'Check a sign-in link',
    access: 'anyone',
    summary: 'Tells whether an emailed link still works',
    notes: 'Spends nothing, and says nothing about the address that the link was sent to.',
    body: magicLinkToken,
    response: magicLinkPreview,
    errors: { invalid_grant: 'The link is unknown, expired or already used.', rate_limited: true },
  }),
  verifyMagicLink: define({
    ...at('sign-in-links', 'post', '/magic_link/verify'),
    title: 'Sign in with a link or code',
    access: 'anyone',
    summary: 'Signs in with an emailed link or code',
    notes: 'Takes the token of the link, or the code together with the request it belongs to.',
    query: signInQuery,
    body: magicLinkVerification,
    response: tokenSet.or(cookieSignIn),
    errors: {
      invalid_grant: 'The link or code is unknown, expired, already used, or for another address.',
      account_disabled: true,
      signup_disabled: true,
      origin_not_allowed: true,
      rate_limited: true,
    },
  }),
} as const;
