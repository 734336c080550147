/** Whether `npm run test:long` runs, in which tests of chance and of combinations take their full length. */
export const isLong = process.env['LATCHKEY_TEST_LONG'] === '1';
