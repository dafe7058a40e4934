// Bundles the programs that run in a browser.
import { dirname, resolve } from "node:path";
import { build } from "esbuild";

/** The files that have code in browser programs, for the licences of their packages. */
export const browserInputs = new Set();

/** One text of a browser program with all that it imports: `main.tsx` gives a module, `page.css` a style sheet. */
export async function bundleForBrowser(path) {
  const { outputFiles, metafile } = await build({
    entryPoints: [path],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) if (bytesInOutput > 0) browserInputs.add(file);
  }
  return outputFiles[0]?.text ?? "";
}

const SUFFIX = "?bundle";
const PREFIX = "\0browser-bundle:";
/** Without it, Vite would take the module for a style sheet. */
const END = ".text";

/** For rolldown, and for Vite in tests: `import text from "./main.tsx?bundle"` gives the text of a browser program. */
export const BROWSER_BUNDLE = {
  name: "browser-bundle",
  enforce: "pre",
  resolveId(id, importer = "") {
    if (id.endsWith(SUFFIX)) return `${PREFIX}${resolve(dirname(importer), id.slice(0, -SUFFIX.length))}${END}`;
  },
  async load(id) {
    if (!id.startsWith(PREFIX)) return undefined;
    const text = await bundleForBrowser(id.slice(PREFIX.length, -END.length));
    return { code: `export default ${JSON.stringify(text)}`, moduleType: "js" };
  },
};
