declare module '../../platform/database/schema.ts' {
  interface Tables {
    device_authorizations: {
      id: string;
      user_code_hash: string;
      status: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
      client_id: string | null;
      client_name: string | null;
      device_name: string | null;
      scope: string | null;
      ip_address: string | null;
      user_agent: string | null;
      created_at: number;
      expires_at: number;
      interval_seconds: number;
      last_poll_at: number;
      user_id: string | null;
      session_epoch: number | null;
      redeemed_at: number | null;
      idempotency_hash: string | null;
      approved_by: string | null;
      passkey_id: string | null;
      session_id: string;
      resource: string | null;
      can_confirm: number;
      /** The hash of the confirmation code; null if the approval needs none. */
      confirmation_hash: string | null;
      confirmation_tries: number;
      /** The hashes of the polls that brought a wrong one, separated by spaces. */
      confirmation_tried: string | null;
    };
  }
}
