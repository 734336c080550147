declare module '../../platform/database/schema.ts' {
  interface Tables {
    organizations: { id: string; slug: string; name: string; personal: number; created_at: number };
    memberships: {
      user_id: string;
      organization_id: string;
      role: 'owner' | 'admin' | 'member';
      joined_at: number;
    };
  }
}
