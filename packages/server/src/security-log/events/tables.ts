import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Tables {
    events: {
      position: Generated<number>;
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
      counted: number;
      counted_seq: number;
      count_seal: string;
    };
    log_totals: {
      bucket: number;
      total: number;
      seal: string;
    };
  }
}
