import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";

const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;

/** The environment variable that names the bundled program, for the tests and their processes. */
export const RUNTIME_PROCESS_VARIABLE = "KUBELAB_TEST_RUNTIME_PROCESS";

/** Bundles the program of an embedded runtime's process into the temporary folder: Node cannot run its source. */
export async function setup(): Promise<void> {
  // Each project runs the set-up.
  if (process.env[RUNTIME_PROCESS_VARIABLE] !== undefined) return;
  const { bundleRuntimeProcess } = (await import(BUNDLE)) as { bundleRuntimeProcess(folder: string): Promise<string> };
  process.env[RUNTIME_PROCESS_VARIABLE] = pathToFileURL(await bundleRuntimeProcess(tmpdir())).href;
}
