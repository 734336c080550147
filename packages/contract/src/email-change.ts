import { z } from 'zod';
import { emailAddress, token } from './fields.ts';

export const emailChangeRequest = z.object({ email: emailAddress });

export const emailChangeSent = z
  .object({ status: z.literal('sent'), expires_in: z.int() })
  .meta({ id: 'EmailChangeSent', description: 'The same whether or not another account has the address.' });

export const emailChangeVerification = z.object({ token });
