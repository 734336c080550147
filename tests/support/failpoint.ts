// Preloaded into a service on SQLite, which it kills beside a commit. `FAILPOINT` says whether before or after it, and in which
// statement: `before update "outbox" set "sent_at"`. `FAILPOINT_COMMITS` such commits succeed before that.

import { Database, type Statement } from 'bun:sqlite';

const { FAILPOINT = '', FAILPOINT_COMMITS = '0' } = process.env;
const [, moment, statement = ''] = /^(before|after) (.+)$/.exec(FAILPOINT) ?? [];
if (moment === undefined) throw new Error(`not a failpoint: ${FAILPOINT}`);

let commitsLeft = Number(FAILPOINT_COMMITS);
let isDue = false;

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

const { prepare, query } = Database.prototype;

Database.prototype.prepare = function (this: Database, text: string) {
  const prepared: Statement = prepare.call(this, text);
  if (!text.startsWith(statement)) return prepared;
  const { all } = prepared;
  prepared.all = (...values) => {
    isDue = true;
    return all.apply(prepared, values);
  };
  return prepared;
} as typeof prepare;

Database.prototype.query = function (this: Database, text: string) {
  const found: Statement = query.call(this, text);
  if (text !== 'COMMIT') return found;
  const run: Statement['run'] = (...values) => {
    const isLast = isDue && commitsLeft-- === 0;
    isDue = false;
    if (isLast && moment === 'before') die();
    const changes = found.run(...values);
    if (isLast) die();
    return changes;
  };
  return { run } as Statement;
} as typeof query;
