import type { FeedEventType } from '@latchkey/contract/feed';
import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Tables {
    feed_events: {
      seq: Generated<number>;
      id: string;
      type: FeedEventType;
      user_id: string;
      session_id: string | null;
      detail: string;
      written_at: number;
    };
  }
}
