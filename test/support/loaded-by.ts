import { type BuildOptions, build } from "esbuild";

const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;

/** The source files whose code is loaded with some files of src, and the size of that code. */
export interface Loaded {
  readonly inputs: ReadonlySet<string>;
  readonly bytes: number;
}

/**
 * Bundles as the build does, and follows static imports.
 * @param entries paths from the root of the checkout
 */
export async function loadedBy(entries: readonly string[]): Promise<Loaded> {
  const { programOptions } = (await import(BUNDLE)) as {
    programOptions(version: string, processFolder: string): BuildOptions;
  };
  const { metafile } = await build({
    ...programOptions("0", "."),
    entryPoints: [...entries],
    outdir: "unused",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const loaded = new Set<string>();
  const visit = (name: string) => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const { path, kind } of metafile.outputs[name]?.imports ?? []) if (kind === "import-statement") visit(path);
  };
  for (const [name, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entries.includes(entryPoint ?? "")) visit(name);
  }
  const outputs = [...loaded].flatMap((name) => metafile.outputs[name] ?? []);
  const kept = outputs.flatMap(({ inputs }) => Object.entries(inputs).filter(([, one]) => one.bytesInOutput > 0));
  return { inputs: new Set(kept.map(([name]) => name)), bytes: outputs.reduce((sum, one) => sum + one.bytes, 0) };
}
