declare module '../../platform/database/schema.ts' {
  interface Tables {
    signing_keys: {
      sequence: number;
      kid: string;
      public_jwk: string;
      sealed_private: string;
      signs_from: number;
    };
  }
}
