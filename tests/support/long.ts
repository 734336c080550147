/** Whether `npm run test:long` runs, in which tests of chance and of combinations take their full length. */
export const isLong = process.env['LATCHKEY_TEST_LONG'] === '1';

/**
 * The databases of tests that run commands as processes. The use cases behind the commands run on both databases in every
 * run, so the processes run on PostgreSQL only then.
 */
export const processDialects = isLong ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const);
