import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError, messageOf } from "../../util/errors.js";
import { readIfThere } from "../../util/os/files.js";
import { nearest } from "../../util/text/nearest.js";
import { parseScenario, type Scenario } from "./scenario.js";

/** Set by the build, whose files lie one folder below the package's. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

const READY = new URL(
  typeof KUBELAB_COMPILED_CONTENT === "boolean" ? "../scenarios/" : "../../../scenarios/",
  import.meta.url,
);

/** The scenarios that come with this program, by name. */
export async function readyScenarios(): Promise<readonly { readonly name: string; readonly title: string }[]> {
  const names = await namesOfReady();
  return await Promise.all(
    names.map(async (name) => {
      const file = fileOf(name);
      return { name, title: parseScenario(await readFile(file, "utf8"), file).title };
    }),
  );
}

/**
 * Opens a scenario.
 * @param word a ready one's name (`node-partition`) or a file (`my.yaml`, `./mine`)
 * @returns what its file says, and the file's text
 * @throws LabError USAGE for an unknown name; BAD_FILE for a file that cannot be read or is wrong
 */
export async function openScenario(
  word: string,
  cwd: string,
): Promise<{ readonly scenario: Scenario; readonly text: string }> {
  const text = await textOf(word, cwd);
  return { scenario: parseScenario(text, word), text };
}

async function textOf(word: string, cwd: string): Promise<string> {
  if (/[/\\.]/.test(word)) return readScenarioFile(word, cwd);
  const names = await namesOfReady();
  if (names.includes(word)) return readFile(fileOf(word), "utf8");
  const like = nearest(names, word);
  throw new LabError(
    "USAGE",
    `there is no ready scenario ${JSON.stringify(word)}`,
    `${like === undefined ? "" : `Did you mean ${like}? `}See kubelab chaos list, or give a file such as ./${word}.yaml.`,
  );
}

async function namesOfReady(): Promise<readonly string[]> {
  return (await readdir(READY)).flatMap((file) => (file.endsWith(".yaml") ? [file.slice(0, -".yaml".length)] : []));
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(`${name}.yaml`, READY));
}

/** @throws LabError BAD_FILE for a file that cannot be read */
export async function readScenarioFile(file: string, cwd: string): Promise<string> {
  const bad = (why: string) => new LabError("BAD_FILE", `cannot read ${file}: ${why}`, "Check the path.");
  const text = await readIfThere(resolve(cwd, file)).catch((error: unknown) => {
    throw bad(messageOf(error));
  });
  if (text === undefined) throw bad("no such file");
  return text;
}
