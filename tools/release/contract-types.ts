// The types of the contract, written out. In the source they are inferred from schemas, which the client does not
// depend on when it is published.

import { join } from 'node:path';
import {
  API,
  type Checker,
  SymbolFlags,
  type Type,
  type Symbol as TypeSymbol,
} from 'typescript/unstable/async';
import { endpoints } from '../../packages/contract/src/endpoints.ts';

const root = join(import.meta.dir, '../..');

/** Write aliases out, and cut nothing short. */
const formatFlags = { noTruncation: 1, inTypeAlias: 1 << 23 };
const flags = formatFlags.noTruncation | formatFlags.inTypeAlias;

/** A type or constant of the contract. */
export interface ContractName {
  /** `tokens` for `packages/contract/src/tokens.ts`. */
  readonly module: string;
  readonly name: string;
}

/** The text of a declaration file with these names, which imports nothing. */
export async function contractTypes(names: readonly ContractName[]): Promise<string> {
  const api = new API({ cwd: root });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] });
    const { checker, program } = snapshot.getProjects()[0]!;
    const declare = async ({ module, name }: ContractName): Promise<string> => {
      const file = await program.getSourceFile(join(root, `packages/contract/src/${module}.ts`));
      const fileSymbol = file && (await checker.getSymbolAtLocation(file));
      const symbols = fileSymbol ? await checker.getExportsOfModule(fileSymbol) : [];
      const symbol = symbols.find((one) => one.name === name);
      if (!symbol) throw new Error(`the contract has no ${module}.${name}`);
      return name === 'endpoints' ? declareEndpoints(checker, symbol) : declaration(checker, symbol);
    };
    return `${(await Promise.all(names.map(declare))).join('\n')}\n`;
  } finally {
    await api.close();
  }
}

async function declaration(checker: Checker, symbol: TypeSymbol): Promise<string> {
  if ((symbol.flags & SymbolFlags.Variable) !== 0) {
    const type = await checker.getTypeOfSymbol(symbol);
    return `export declare const ${symbol.name}: ${await checker.typeToString(type!, undefined, flags)};`;
  }
  const type = await checker.getDeclaredTypeOfSymbol(symbol);
  return `export type ${symbol.name} = ${await checker.typeToString(type, undefined, flags)};`;
}

/** Method, path, and the types of query, body and response, in the shape that the client's `operations.ts` reads. */
async function declareEndpoints(checker: Checker, symbol: TypeSymbol): Promise<string> {
  const type = await checker.getTypeOfSymbol(symbol);
  const ids = await checker.getPropertiesOfType(type!);
  const entries = await Promise.all(
    ids.map(async (id) => {
      const { method, path } = endpoints[id.name as keyof typeof endpoints];
      const members = await Promise.all(
        (await checker.getPropertiesOfType((await checker.getTypeOfSymbol(id))!))
          .filter(({ name }) => ['query', 'body', 'response'].includes(name))
          .map((member) => declareSchema(checker, member)),
      );
      return `  readonly ${id.name}: {
    readonly method: '${method}';
    readonly path: '${path}';
${members.map((member) => `    ${member}\n`).join('')}  };`;
    }),
  );
  return `export declare const endpoints: {\n${entries.join('\n')}\n};`;
}

/** What a caller sends, or receives. */
async function declareSchema(checker: Checker, member: TypeSymbol): Promise<string> {
  const side = member.name === 'response' ? 'output' : 'input';
  const schema = await typeOf(checker, await checker.getTypeOfSymbol(member), '_zod');
  const type = await typeOf(checker, schema, side);
  const text = await checker.typeToString(type!, undefined, flags);
  return `readonly ${member.name}: { readonly _zod: { readonly ${side}: ${text} } };`;
}

async function typeOf(checker: Checker, type: Type | undefined, property: string): Promise<Type | undefined> {
  const found = type && (await checker.getPropertiesOfType(type)).find(({ name }) => name === property);
  return found && checker.getTypeOfSymbol(found);
}
