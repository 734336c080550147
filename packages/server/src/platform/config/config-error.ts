/** A setting that cannot be used. The message is one sentence that names the setting. */
export class ConfigError extends Error {}
