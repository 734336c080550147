import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Tables {
    passkeys: {
      id: string;
      user_id: string;
      credential_id: string;
      public_key: string;
      counter: number;
      name: string;
      aaguid: string;
      device_type: 'single_device' | 'multi_device';
      backed_up: number;
      transports: string;
      created_at: number;
      last_used_at: number | null;
      ordinal: Generated<number>;
    };
    spent_challenges: { id: string; expires_at: number };
  }
}
