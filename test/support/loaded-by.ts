import type { OutputChunk } from "rolldown";

const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;

/** The source files whose code is loaded with some files of src, the number of bundled files, and their size. */
export interface Loaded {
  readonly inputs: ReadonlySet<string>;
  readonly files: number;
  readonly bytes: number;
}

/**
 * Bundles as the build does, and follows static imports.
 * @param entries paths from the root of the checkout
 */
export async function loadedBy(entries: readonly string[]): Promise<Loaded> {
  const loaded = reachedFrom(await bundle(entries), (chunk) => chunk.imports);
  return {
    inputs: inputsOf(loaded),
    files: loaded.length,
    bytes: loaded.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
  };
}

/**
 * The source files in the bundle of the CLI, which some command loads.
 * @param except a source file whose imports do not count
 */
export async function bundledInCli(except: string): Promise<ReadonlySet<string>> {
  const chunks = await bundle(["src/cli.ts"]);
  const counted = chunks.filter((chunk) => !inputsOf([chunk]).has(except));
  return inputsOf(reachedFrom(counted, (chunk) => [...chunk.imports, ...chunk.dynamicImports]));
}

/** The chunks that the entries among them lead to, by the names that `next` gives. */
function reachedFrom(
  chunks: readonly OutputChunk[],
  next: (chunk: OutputChunk) => readonly string[],
): readonly OutputChunk[] {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const reached = new Set<OutputChunk>();
  const visit = (chunk: OutputChunk | undefined) => {
    if (chunk === undefined || reached.has(chunk)) return;
    reached.add(chunk);
    for (const name of next(chunk)) visit(byName.get(name));
  };
  for (const chunk of chunks) if (chunk.isEntry) visit(chunk);
  return [...reached];
}

async function bundle(entries: readonly string[]): Promise<readonly OutputChunk[]> {
  const { bundleProgram } = (await import(BUNDLE)) as {
    bundleProgram(input: readonly string[], version: string, processFolder: string): Promise<readonly OutputChunk[]>;
  };
  return bundleProgram(entries, "0", ".");
}

function inputsOf(chunks: readonly OutputChunk[]): ReadonlySet<string> {
  const root = new URL("../../", import.meta.url).pathname;
  return new Set(chunks.flatMap(({ moduleIds }) => moduleIds.map((id) => id.replace(root, ""))));
}
