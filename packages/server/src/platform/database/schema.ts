import type { FeedEventType } from '@latchkey/contract/feed';
import type { NoticeKind } from '@latchkey/contract/notices';
import type { Generated } from 'kysely';

/**
 * The tables, the same on both databases. Times are milliseconds since 1970, flags are 0 or 1, identifiers are text. The
 * migrations describe the columns.
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
    kind: 'browser' | 'device' | 'app' | 'key' | 'run';
    method:
      | 'device_code'
      | 'browser_code'
      | 'magic_link'
      | 'email_code'
      | 'passkey'
      | 'key'
      | 'token_exchange';
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
    parent_session_id: string | null;
    passkey_id: string | null;
    passkey_added_by: string | null;
    email_change_id: string | null;
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
    client_id: string | null;
    authenticated_at: number | null;
    authenticated_by: 'magic_link' | 'email_code' | 'passkey' | null;
  };
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
    created_at: number;
    expires_at: number;
    spent_at: number | null;
    redeemed: number;
    request_hash: string | null;
  };
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
    session_id: string;
    resource: string | null;
  };
  magic_links: {
    id: string;
    email: string;
    email_key: string;
    created_at: number;
    expires_at: number;
    code_tries: number;
    spent_at: number | null;
    ip_address: string | null;
    user_agent: string | null;
    language: string | null;
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
    session_id: string | null;
    email_change_id: string | null;
  };
  spent_challenges: { id: string; expires_at: number };
  rate_limits: { key: string; points: number; expire: number | null };
  service_keys: {
    id: string;
    name: string;
    secret_hash: string;
    created_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
    resource: string | null;
    rights: string;
    reach: string;
    next_secret_hash: string | null;
    feed_since: number | null;
    feed_from: number | null;
    redirect_uris: Generated<string>;
    sign_out_redirect_uris: Generated<string>;
    public_client: Generated<number>;
    trusted: Generated<number>;
  };
  declarations: {
    kind: 'scope' | 'resource';
    name: string;
    service_id: string;
    sentence: string | null;
    withdrawn_at: number | null;
  };
  service_tokens: {
    id: string;
    service_id: string;
    resource: string;
    resource_service_id: string;
    scope: string;
    created_at: number;
    expires_at: number;
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
    recipient_key: string;
    reference: string;
    created_at: number;
    expires_at: number;
    next_attempt_at: number;
    attempts: number;
    sent_at: number | null;
    dead_at: number | null;
    last_error: string | null;
    priority: number;
    refusals: number;
    slow_attempts: number;
    trace_id: string | null;
    span_id: string | null;
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
    seq: number;
    once: string | null;
    mac: string;
  };
  event_chains: {
    user_id: string;
    base_seq: number;
    base_mac: string;
    head_seq: number;
    head_mac: string;
    head_at: number;
    oldest_at: number | null;
    seal: string;
  };
  event_positions: { position: number; event_id: string };
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
    voided_at: number | null;
    undone_at: number | null;
    wrong_addresses: number;
  };
  feed_events: {
    seq: Generated<number>;
    id: string;
    type: FeedEventType;
    user_id: string;
    session_id: string | null;
    detail: string;
    written_at: number;
  };
  feed_readers: {
    id: string;
    service_id: string;
    name: string | null;
    position: number;
    settled_at: number;
    last_request_at: number;
  };
  feed_acknowledgements: { reader_id: string; seq: number };
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
