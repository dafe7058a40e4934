import { readFile } from "node:fs/promises";
import { sayIn } from "../../../util/i18n/catalogue.js";
import type { Lab } from "./lab.js";
import { type LabLibrary, type LabSummary, summaryOf } from "./library.js";
import type { LabPath } from "./paths.js";

/** Set by the build, which puts the compiled content next to the bundle. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

const SOURCES = new URL("../../../../labs/", import.meta.url);

/** The labs that come with this program. */
export async function openLibrary(): Promise<LabLibrary> {
  return typeof KUBELAB_COMPILED_CONTENT === "boolean" ? compiledLibrary() : sourceLibrary();
}

/** The paths through the labs that come with this program. */
export async function openPaths(): Promise<readonly LabPath[]> {
  if (typeof KUBELAB_COMPILED_CONTENT === "boolean") return (await readCompiled("paths")) as readonly LabPath[];
  const { compilePaths } = await import("./paths.js");
  const { summaries } = await sourceLibrary();
  const file = new URL("paths.yaml", SOURCES).pathname;
  return (
    await compilePaths(
      file,
      summaries.map(({ id }) => id),
      sayIn("en"),
    )
  ).paths;
}

async function readCompiled(name: string): Promise<unknown> {
  return JSON.parse(await readFile(new URL(`labs/${name}.json`, import.meta.url), "utf8"));
}

async function compiledLibrary(): Promise<LabLibrary> {
  const summaries = (await readCompiled("index")) as readonly LabSummary[];
  return {
    summaries,
    load: async (id) => (summaries.some((one) => one.id === id) ? ((await readCompiled(id)) as Lab) : undefined),
  };
}

/** Reads the labs from the checkout, for tests, which run the sources. */
async function sourceLibrary(): Promise<LabLibrary> {
  const { compileLabs } = await import("./compile.js");
  const compiled = await compileLabs(SOURCES.pathname);
  const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));
  return {
    summaries: labs.map(summaryOf),
    load: async (id) => labs.find(({ definition }) => definition.id === id),
  };
}
