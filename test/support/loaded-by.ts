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
  const { bundleProgram } = (await import(BUNDLE)) as {
    bundleProgram(input: readonly string[], version: string, processFolder: string): Promise<readonly OutputChunk[]>;
  };
  const chunks = new Map((await bundleProgram(entries, "0", ".")).map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set<OutputChunk>();
  const visit = (chunk: OutputChunk | undefined) => {
    if (chunk === undefined || loaded.has(chunk)) return;
    loaded.add(chunk);
    for (const name of chunk.imports) visit(chunks.get(name));
  };
  for (const chunk of chunks.values()) if (chunk.isEntry) visit(chunk);
  const root = new URL("../../", import.meta.url).pathname;
  return {
    inputs: new Set([...loaded].flatMap(({ moduleIds }) => moduleIds.map((id) => id.replace(root, "")))),
    files: loaded.size,
    bytes: [...loaded].reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
  };
}
