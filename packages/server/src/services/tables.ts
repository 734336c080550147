import type { Generated } from 'kysely';

declare module '../platform/database/schema.ts' {
  interface Tables {
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
      /** Of a resource without a path the spelling without the final slash; `service_keys` has the declared one. */
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
  }
}
