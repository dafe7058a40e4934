import assert from "node:assert/strict";
import { build } from "esbuild";
import { test } from "vitest";

/** Whatever a learner waits for before the menu shows, or a check answers. */
const ENTRIES = [
  "src/cli/main.ts",
  "src/commands/learn.ts",
  "src/commands/learn/menu.ts",
  "src/commands/learn/operations.ts",
  "src/commands/learn/listing.ts",
  "src/commands/learn/menu-prompt.ts",
];
/** What takes long to load, and is of no use there. */
const HEAVY =
  /^src\/(controlplane|runtime|kubelet|client|pki)\/|node_modules\/(inquirer|iconv-lite|string-width|zod|yaml|ora|@kubernetes)\//;
const MAX_BYTES = 200_000;

test("the menu, check, next and hint load neither a cluster nor heavy packages", async () => {
  const { metafile } = await build({
    entryPoints: ENTRIES,
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
    if (ENTRIES.includes(entryPoint ?? "")) visit(name);
  }
  const outputs = [...loaded].flatMap((name) => metafile.outputs[name] ?? []);
  const inputs = new Set(
    outputs.flatMap((one) =>
      Object.entries(one.inputs).flatMap(([name, { bytesInOutput }]) => (bytesInOutput > 0 ? [name] : [])),
    ),
  );
  assert.ok(inputs.has("src/commands/learn/menu.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => HEAVY.test(name)),
    [],
  );
  const bytes = outputs.reduce((sum, one) => sum + one.bytes, 0);
  assert.ok(bytes < MAX_BYTES, `${bytes} bytes of code`);
});
