import postgres from 'postgres';
import type { Executor } from './executor.ts';

/** How many share one statement. More than that use other connections, and so other cores of PostgreSQL. */
export const maxTogether = 32;

interface Question<P, Row> {
  readonly values: P;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
}

/**
 * A statement in two forms: `one` for a single set of values, and `all` for several, which returns the rows of each, or undefined
 * for values that need a statement of their own. Where the executor gathers statements, the statements of one turn of the event loop go
 * out as one: a round trip to PostgreSQL costs several times what most of them do. One that fails does not affect the others.
 */
export function gathered<P, Row>(
  one: (on: Executor, values: P) => Promise<Row[]>,
  all: (on: Executor, values: readonly P[]) => Promise<(Row[] | undefined)[]>,
): (on: Executor, values: P) => Promise<Row[]> {
  const answerAlone = (on: Executor, { values, resolve, reject }: Question<P, Row>): void =>
    void one(on, values).then(resolve, reject);

  const answer = async (on: Executor, questions: readonly Question<P, Row>[]): Promise<void> => {
    try {
      const values = questions.map((question) => question.values);
      const found = questions.length === 1 ? [] : await all(on, values);
      for (const [at, question] of questions.entries()) {
        const rows = found[at];
        if (rows) question.resolve(rows);
        else answerAlone(on, question);
      }
    } catch (error) {
      // Nothing has happened if the database refused the statement because of one of them. Otherwise it may have.
      const isRefused = error instanceof postgres.PostgresError;
      for (const question of questions) isRefused ? answerAlone(on, question) : question.reject(error);
    }
  };

  const waiting = new Map<Executor, Question<P, Row>[]>();
  const answerWaiting = (on: Executor): void => {
    const questions = waiting.get(on) ?? [];
    waiting.delete(on);
    for (let at = 0; at < questions.length; at += maxTogether)
      void answer(on, questions.slice(at, at + maxTogether));
  };

  return (on, values) => {
    if (!on.gathers) return one(on, values);
    return new Promise((resolve, reject) => {
      const question = { values, resolve, reject };
      const others = waiting.get(on);
      if (others) return void others.push(question);
      waiting.set(on, [question]);
      setImmediate(answerWaiting, on);
    });
  };
}
