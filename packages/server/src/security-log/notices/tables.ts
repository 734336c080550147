import type { NoticeKind } from '@latchkey/contract/notices';

declare module '../../platform/database/schema.ts' {
  interface Tables {
    notices: {
      id: string;
      user_id: string;
      kind: NoticeKind;
      email_key: string;
      session_id: string | null;
      email_change_id: string | null;
      client_name: string | null;
      device_name: string | null;
      passkey_name: string | null;
      new_email: string | null;
      ip_address: string | null;
      user_agent: string | null;
      created_at: number;
      expires_at: number;
      disowned_at: number | null;
      restored_email: string | null;
      outcome: string | null;
      approver_disowned_at: number | null;
      digest_id: string | null;
    };
    notice_windows: {
      user_id: string;
      kind: NoticeKind;
      id: string;
      notices: number;
      ends_at: number;
    };
  }
}
