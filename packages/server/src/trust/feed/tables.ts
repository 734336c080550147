declare module '../../platform/database/schema.ts' {
  interface Tables {
    feed_readers: {
      id: string;
      service_id: string;
      name: string | null;
      position: number;
      settled_at: number;
      last_request_at: number;
    };
    feed_acknowledgements: { reader_id: string; seq: number };
  }
}
