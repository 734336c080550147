export {};

declare module '../../platform/database/schema.ts' {
  interface Tables {
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
