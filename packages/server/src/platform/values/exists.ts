import { statSync } from 'node:fs';

/** Whether there is such a file. Unlike `existsSync`, does not call one missing where this user may not look. @throws {Error} */
export const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
