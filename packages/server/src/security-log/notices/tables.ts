import type { Language } from '@latchkey/contract/languages';
import type { NoticeKind } from '@latchkey/contract/notices';
import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Tables {
    notices: {
      id: string;
      user_id: string;
      kind: NoticeKind;
      email: string | null;
      email_key: string;
      language: Language | null;
      session_id: string | null;
      client_name: string | null;
      device_name: string | null;
      passkey_name: string | null;
      new_email: string | null;
      ip_address: string | null;
      user_agent: string | null;
      created_at: number;
      ordinal: Generated<number>;
      since: number | null;
      expires_at: number;
      disowned_at: number | null;
      outcome: string | null;
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
