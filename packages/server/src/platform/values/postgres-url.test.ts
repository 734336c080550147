import { expect, test } from 'bun:test';
import { postgresServers } from '../database/postgres-primary.ts';

test('a URL with several hosts is that of several servers', () => {
  expect(postgresServers('postgres://u:a%2Cb@one:5432,[::1]:5433,three/db?sslmode=require')).toEqual([
    'postgres://u:a%2Cb@one:5432/db?sslmode=require',
    'postgres://u:a%2Cb@[::1]:5433/db?sslmode=require',
    'postgres://u:a%2Cb@three/db?sslmode=require',
  ]);
  expect(postgresServers('postgresql://one,two')).toEqual(['postgresql://one', 'postgresql://two']);
  for (const url of [
    'postgres://u:p,q@one/db',
    'postgres://one/db?options=a,b',
    'postgres:///db?host=/run',
  ]) {
    expect(postgresServers(url)).toEqual([url]);
  }
});
