import { build } from "esbuild";

/** What some files of src load as soon as they are loaded themselves: source files that code of is kept, and bytes of code. */
export interface Loaded {
  readonly inputs: ReadonlySet<string>;
  readonly bytes: number;
}

/**
 * Bundles as the program is built, and follows the imports that are not waited for.
 * @param entries paths from the root of the checkout
 */
export async function loadedBy(entries: readonly string[]): Promise<Loaded> {
  const { metafile } = await build({
    entryPoints: [...entries],
    outdir: "unused",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.18",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
    external: ["@mongodb-js/zstd", "node-liblzma"],
    define: { KUBELAB_VERSION: '"0"', KUBELAB_COMPILED_LABS: "true" },
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
