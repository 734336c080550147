/** Makes a value at the first call; every other call returns the same. A promise is of one run, too. */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
