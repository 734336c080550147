declare module '../../platform/database/schema.ts' {
  interface Tables {
    authorization_codes: {
      id: string;
      user_id: string;
      session_epoch: number;
      approved_by: string;
      session_id: string;
      client_id: string;
      client_name: string | null;
      device_name: string | null;
      redirect_uri: string;
      redirect_uri_named: number;
      code_challenge: string;
      scope: string;
      resource: string | null;
      nonce: string | null;
      passkey_id: string | null;
      created_at: number;
      expires_at: number;
      spent_at: number | null;
      redeemed: number;
      request_hash: string | null;
    };
  }
}
