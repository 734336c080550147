export {};

declare module '../../platform/database/schema.ts' {
  interface Tables {
    users: {
      id: string;
      email: string;
      email_key: string;
      email_verified: number;
      name: string;
      avatar_url: string | null;
      locale: string | null;
      time_zone: string | null;
      webauthn_user_handle: string;
      revision: number;
      session_epoch: number;
      disabled_at: number | null;
      created_at: number;
      updated_at: number;
      former_languages: string | null;
    };
  }
}
