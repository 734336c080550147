// The rows that everything else hangs on. The layers above read them; identity/account changes accounts, sessions/ sessions.

import type { Profile, ProfileField } from '@latchkey/contract/account';
import type { loginMethods } from '@latchkey/contract/sessions';
import type { Generated } from 'kysely';

declare module '../platform/database/schema.ts' {
  interface Tables {
    users: {
      id: string;
      email: string;
      email_key: string;
      email_verified: number;
      webauthn_user_handle: string;
      revision: number;
      session_epoch: number;
      disabled_at: number | null;
      created_at: number;
      updated_at: number;
      former_languages: string | null;
    } & Pick<Profile, ProfileField>;
    sessions: {
      id: string;
      user_id: string;
      session_epoch: number;
      kind: 'browser' | 'device' | 'app' | 'key' | 'run';
      method: (typeof loginMethods)[number] | 'key' | 'token_exchange';
      generation: number;
      rotated_at: number;
      idempotency_hash: string | null;
      client_name: string | null;
      device_name: string | null;
      ip_address: string | null;
      user_agent: string | null;
      created_at: number;
      ordinal: Generated<number>;
      last_used_at: number;
      idle_expires_at: number;
      expires_at: number;
      revoked_at: number | null;
      end_announced_at: number | null;
      parent_session_id: string | null;
      passkey_id: string | null;
      distrusted_as: 'disowned' | 'stolen' | null;
      rotated_network: string | null;
      rotated_program: string | null;
      scope: string | null;
      resource: string | null;
      authorization_details: string | null;
      path: string | null;
      within_session_id: string | null;
      root_session_id: string | null;
      service_id: string | null;
      actor: string | null;
      token_ttl_seconds: number | null;
      trust: string | null;
      client_id: string | null;
      authenticated_at: number | null;
      authenticated_by: Tables['sessions']['method'] | null;
    };
  }
}
