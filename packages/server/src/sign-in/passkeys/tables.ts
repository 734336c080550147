export {};

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
      session_id: string | null;
      email_change_id: string | null;
    };
    spent_challenges: { id: string; expires_at: number };
  }
}
