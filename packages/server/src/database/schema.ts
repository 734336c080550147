/**
 * The tables as the code sees them. Times are milliseconds since 1970, flags are 0 or 1, identifiers are text;
 * both databases hold the same. What a column means is said in the migration that made it.
 */
export interface Tables {
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
  };
  sessions: {
    id: string;
    user_id: string;
    session_epoch: number;
    kind: 'browser' | 'device';
    method: 'device_code' | 'magic_link' | 'email_code' | 'passkey';
    generation: number;
    rotated_at: number;
    idempotency_hash: string | null;
    client_name: string | null;
    device_name: string | null;
    ip_address: string | null;
    user_agent: string | null;
    created_at: number;
    last_used_at: number;
    idle_expires_at: number;
    expires_at: number;
    revoked_at: number | null;
  };
  device_authorizations: {
    id: string;
    user_code_hash: string;
    status: 'pending' | 'approved' | 'denied' | 'redeemed';
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
  };
  magic_links: {
    id: string;
    email: string;
    email_key: string;
    created_at: number;
    expires_at: number;
    code_tries: number;
    spent_at: number | null;
  };
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
  };
  spent_challenges: { id: string; expires_at: number };
  service_keys: {
    id: string;
    name: string;
    secret_hash: string;
    created_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  signing_keys: {
    sequence: number;
    kid: string;
    public_jwk: string;
    sealed_private: string;
    signs_from: number;
  };
  organizations: { id: string; slug: string; name: string; personal: number; created_at: number };
  memberships: {
    user_id: string;
    organization_id: string;
    role: 'owner' | 'admin' | 'member';
    joined_at: number;
  };
  outbox: {
    id: string;
    template: string;
    recipient: string;
    reference: string;
    created_at: number;
    expires_at: number;
    next_attempt_at: number;
    attempts: number;
    sent_at: number | null;
    dead_at: number | null;
    last_error: string | null;
  };
  events: {
    id: string;
    user_id: string;
    type: string;
    session_id: string | null;
    ip_address: string | null;
    user_agent: string | null;
    detail: string | null;
    created_at: number;
  };
}
