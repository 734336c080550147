import { profileFields } from '@latchkey/contract/account';
import type { CallerAccount } from '../platform/context.ts';

/** The columns of an account that its profile shows. */
export const profileColumns: readonly (keyof CallerAccount)[] = [
  ...(['id', 'email', 'email_verified', 'revision', 'created_at', 'updated_at'] as const),
  ...profileFields,
];
