import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  absent,
  described,
  emailAddress,
  emailedToken,
  expiresIn,
  model,
  opaque,
  shown,
  text,
  token,
} from './fields.ts';
import { cookieSignIn, signInQuery, tokenSet } from './tokens.ts';

const linkToken = emailedToken(examples.linkToken);

/**
 * Either the token of the link, or the code together with the request it belongs to. With `token`, a page can send the
 * address the user typed: a link for a different address is then refused without being spent.
 */
const magicLinkVerification = z.union([
  z
    .object({
      token: linkToken,
      email: described(
        text(fieldLimits.emailAddress).optional(),
        'The address that the user typed. A link for another address is refused and stays usable.',
        examples.email,
      ),
    })
    .meta({ title: 'With the link' }),
  z
    .object({
      request: described(
        token,
        'The `request` of the response to the request for the link.',
        examples.linkRequest,
      ),
      code: described(
        opaque(fieldLimits.emailCode),
        'The code from the email. Spaces and hyphens do not matter.',
        '1234-5678',
      ),
      // With a malformed token, the request must fail instead of falling back to the code.
      token: absent('must be the token of a link, or omitted'),
    })
    .meta({ title: 'With the code' }),
]);

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
    body: z.object({ email: emailAddress }),
    status: 202,
    response: model('MagicLinkSent', 'The same whether or not the account exists.', {
      status: z.literal('sent').meta({ description: 'Always `sent`.' }),
      expires_in: expiresIn('the link and the code', 900),
      request: shown('A secret of this client. The emailed code only works with it.', examples.linkRequest),
    }),
    errors: { rate_limited: true },
  }),
  previewMagicLink: define({
    ...at('sign-in-links', 'post', '/magic_link/preview'),
    title: 'Check a sign-in link',
    access: 'anyone',
    summary: 'Tells whether an emailed link still works',
    notes: 'Spends nothing, and says nothing about the address that the link was sent to.',
    body: z.object({ token: linkToken }),
    response: model('MagicLinkPreview', 'A link that works.', { expires_in: expiresIn('the link', 840) }),
    errors: { invalid_grant: 'The link is unknown, expired or already used.', rate_limited: true },
  }),
  verifyMagicLink: define({
    ...at('sign-in-links', 'post', '/magic_link/verify'),
    title: 'Sign in with a link or code',
    access: 'anyone',
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
