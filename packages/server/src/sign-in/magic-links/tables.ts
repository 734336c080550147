declare module '../../platform/database/schema.ts' {
  interface Tables {
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
  }
}
