/** Linux's MAX_ARG_STRLEN; all arguments together are limited to a quarter of a stack of 8 MB. */
const MAX_ARGUMENT_BYTES = 131_072;
const MAX_ARGUMENTS_BYTES = 2_097_152;

/** The size of the arguments and the environment that execve copies; undefined if it exceeds a limit. */
export function argumentBytes(argv: readonly string[], env: Readonly<Record<string, string>>): number | undefined {
  let sum = 0;
  for (const word of argv) {
    const length = Buffer.byteLength(word) + 1;
    if (length > MAX_ARGUMENT_BYTES) return undefined;
    sum += length + 8;
  }
  for (const [name, value] of Object.entries(env)) sum += Buffer.byteLength(name) + Buffer.byteLength(value) + 10;
  return sum > MAX_ARGUMENTS_BYTES ? undefined : sum;
}
