/** Lets other work of this process run for so many turns of its event loop. Proves nothing: for races, which must hold in any order. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}
