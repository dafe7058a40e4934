import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";

const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;

/** The environment variables that name the bundled programs, for the tests and their processes. */
export const RUNTIME_PROCESS_VARIABLE = "KUBELAB_TEST_RUNTIME_PROCESS";
export const UTILITY_PROCESS_VARIABLE = "KUBELAB_TEST_UTILITY_PROCESS";
export const EXERCISE_PROCESS_VARIABLE = "KUBELAB_TEST_EXERCISE_PROCESS";

/** Bundles the programs of an embedded runtime's processes into the temporary folder: Node cannot run their sources. */
export async function setup(): Promise<void> {
  // Each project runs the set-up.
  if (process.env[RUNTIME_PROCESS_VARIABLE] !== undefined) return;
  const { bundleProcesses } = (await import(BUNDLE)) as {
    bundleProcesses(folder: string): Promise<Readonly<Record<"runtime" | "utility" | "exercise", string>>>;
  };
  const { runtime, utility, exercise } = await bundleProcesses(tmpdir());
  process.env[RUNTIME_PROCESS_VARIABLE] = pathToFileURL(runtime).href;
  process.env[UTILITY_PROCESS_VARIABLE] = pathToFileURL(utility).href;
  process.env[EXERCISE_PROCESS_VARIABLE] = pathToFileURL(exercise).href;
}
