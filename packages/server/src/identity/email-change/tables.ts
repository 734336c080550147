declare module '../../platform/database/schema.ts' {
  interface Tables {
    email_changes: {
      id: string;
      user_id: string;
      session_id: string;
      session_epoch: number;
      new_email: string;
      new_email_key: string;
      old_email: string | null;
      old_email_key: string | null;
      created_at: number;
      expires_at: number;
      changed_at: number | null;
      ordinal: number | null;
      voided_at: number | null;
      undone_at: number | null;
      wrong_addresses: number;
    };
  }
}
