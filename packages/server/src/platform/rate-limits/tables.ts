declare module '../database/schema.ts' {
  interface Tables {
    rate_limits: { key: string; points: number; expire: number | null };
  }
}
