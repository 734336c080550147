import { profile, profilePatch, profileView } from '../account.ts';
import {
  emailChangePreview,
  emailChangeRequest,
  emailChangeSent,
  emailChangeToken,
  emailChangeVerification,
} from '../email-change.ts';
import { at, define, ownList } from '../endpoint.ts';
import { eventList } from '../events.ts';
import { disownedNotice, noticeDisowning, noticePreview, noticeToken } from '../notices.ts';

export const accountEndpoints = {
  getProfile: define({
    ...at('profile', 'get', '/me'),
    title: 'Get the profile',
    summary: "Returns the user's profile",
    notes: 'Responds with 304 if the profile still matches If-None-Match.',
    access: 'bearer',
    scopes: ['profile', 'email'],
    headers: { 'If-None-Match': 'The ETag of a cached profile.' },
    etag: true,
    response: profileView,
  }),
  updateProfile: define({
    ...at('profile', 'patch', '/me'),
    title: 'Update the profile',
    summary: "Updates the user's profile",
    notes: 'Takes a JSON merge patch (RFC 7396): absent members are unchanged, and null clears a member.',
    access: 'bearer',
    headers: {
      'If-Match': 'The ETag of the profile to update. If the profile has changed since, the request fails.',
    },
    body: profilePatch,
    etag: true,
    response: profile,
    errors: {
      precondition_failed: 'The profile has changed since If-Match, or Latchkey-User names another user.',
      rate_limited: true,
    },
  }),
  deleteAccount: define({
    ...at('profile', 'delete', '/me'),
    title: 'Delete the account',
    summary: "Permanently deletes the user's account and all of its data",
    notes: 'Fails with conflict if the user is the only owner of an organization.',
    access: 'recent',
    status: 204,
    errors: { conflict: 'The user is the only owner of an organization.' },
  }),
  requestEmailChange: define({
    ...at('profile', 'post', '/me/email'),
    title: 'Request an email change',
    summary: 'Emails a confirmation link to a new email address',
    notes: 'The response is the same whether or not another account uses the address.',
    access: 'recent',
    body: emailChangeRequest,
    status: 202,
    response: emailChangeSent,
    errors: { signup_disabled: 'Addresses of this domain are not allowed here.', rate_limited: true },
  }),
  verifyEmailChange: define({
    ...at('profile', 'post', '/me/email/verify'),
    title: 'Change the email address',
    summary: "Changes the account's email address",
    notes:
      'Takes the token of the link, and either a session of the account or its current address. Sends a security notice to the previous address, from which the change can be undone.',
    access: 'optional',
    body: emailChangeVerification,
    response: profile,
    errors: {
      invalid_grant: 'The link is unknown, expired or already used, or the current address is wrong.',
      conflict: 'Another account has this address.',
      account_disabled: true,
      rate_limited: true,
    },
  }),
  previewEmailChange: define({
    ...at('profile', 'post', '/me/email/preview'),
    title: 'Check an email change',
    summary: 'Returns the email change that a confirmation link would make',
    notes: 'Requires a session of the account. Changes nothing.',
    access: 'bearer',
    body: emailChangeToken,
    response: emailChangePreview,
    errors: {
      invalid_grant: 'The link is unknown, expired, already used, or for another account.',
      rate_limited: true,
    },
  }),
  previewNotice: define({
    ...at('security-log', 'post', '/notices/preview'),
    title: 'Look at a security notice',
    summary: 'Returns what a security notice is about',
    notes: 'Changes nothing.',
    access: 'anyone',
    body: noticeToken,
    response: noticePreview,
    errors: { invalid_grant: 'The link is unknown or expired.' },
  }),
  disownNotice: define({
    ...at('security-log', 'post', '/notices/disown'),
    title: 'Answer a security notice',
    summary: 'Undoes everything since the session began that a security notice is about',
    notes:
      'This is what the link "This wasn\'t me" in a notice does. Sessions, keys and runs that began since then end, and passkeys added since then are removed, no matter who started or added them.',
    access: 'anyone',
    body: noticeDisowning,
    response: disownedNotice,
    errors: {
      invalid_grant: 'The link is unknown or expired.',
      conflict: 'Another account has the address that would be restored.',
    },
  }),
  listEvents: define({
    ...ownList,
    ...at('security-log', 'get', '/events'),
    title: 'List events',
    summary: "Lists the events of the user's security log, newest first",
    response: eventList,
  }),
} as const;
