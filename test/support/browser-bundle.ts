import { dirname, resolve } from "node:path";

const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;
const SUFFIX = "?bundle";
/** Vite must not take the module for a style sheet by its name. */
const PREFIX = "\0browser-bundle:";
const END = ".text";

/** Answers `import text from "./main.tsx?bundle"` in tests, as scripts/bundle.mjs does in the program. */
export const BROWSER_BUNDLE = {
  name: "browser-bundle",
  enforce: "pre" as const,
  resolveId(id: string, importer: string | undefined): string | undefined {
    if (!id.endsWith(SUFFIX)) return undefined;
    return `${PREFIX}${resolve(dirname(importer ?? ""), id.slice(0, -SUFFIX.length))}${END}`;
  },
  async load(id: string): Promise<string | undefined> {
    if (!id.startsWith(PREFIX)) return undefined;
    const { bundleForBrowser } = await import(BUNDLE);
    return `export default ${JSON.stringify(await bundleForBrowser(id.slice(PREFIX.length, -END.length)))}`;
  },
};
