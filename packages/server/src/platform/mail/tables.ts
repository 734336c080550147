declare module '../database/schema.ts' {
  interface Tables {
    outbox: {
      id: string;
      template: string;
      recipient: string;
      recipient_key: string;
      user_id: string | null;
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
  }
}
