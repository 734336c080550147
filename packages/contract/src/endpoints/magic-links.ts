import { auth, define } from '../endpoint.ts';
import {
  magicLinkPreview,
  magicLinkRequest,
  magicLinkSent,
  magicLinkToken,
  magicLinkVerification,
} from '../magic-links.ts';
import { cookieSignIn, signInQuery, tokenSet } from '../tokens.ts';

const ofLink = { group: 'sign-in-links', method: 'post', access: 'anyone' } as const;

export const magicLinkEndpoints = {
  requestMagicLink: define({
    ...ofLink,
    title: 'Email a sign-in link',
    path: `${auth}/magic_link`,
    summary: 'Emails a sign-in link and a sign-in code',
    notes: 'The response is the same whether or not the account exists.',
    headers: {
      'Accept-Language':
        'The languages that the user reads. The email is in one of them if the profile of the account has no `locale`, or there is no account.',
    },
    body: magicLinkRequest,
    status: 202,
    response: magicLinkSent,
    errors: ['invalid_request', 'rate_limited'],
  }),
  previewMagicLink: define({
    ...ofLink,
    title: 'Check a sign-in link',
    path: `${auth}/magic_link/preview`,
    summary: 'Tells whether an emailed link still works',
    notes: 'Spends nothing, and says nothing about the address that the link was sent to.',
    body: magicLinkToken,
    response: magicLinkPreview,
    errors: ['invalid_request', 'invalid_grant', 'rate_limited'],
    errorMeanings: { invalid_grant: 'The link is unknown, expired or already used.' },
  }),
  verifyMagicLink: define({
    ...ofLink,
    title: 'Sign in with a link or code',
    path: `${auth}/magic_link/verify`,
    summary: 'Signs in with an emailed link or code',
    notes: 'Takes the token of the link, or the code together with the request it belongs to.',
    query: signInQuery,
    body: magicLinkVerification,
    response: tokenSet.or(cookieSignIn),
    errors: [
      'invalid_request',
      'invalid_grant',
      'account_disabled',
      'signup_disabled',
      'origin_not_allowed',
      'rate_limited',
    ],
    errorMeanings: {
      invalid_grant: 'The link or code is unknown, expired, already used, or for another address.',
    },
  }),
} as const;
