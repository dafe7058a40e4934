import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { CliProcess } from "./cli-process.js";

const run = promisify(execFile);
/** Time limit of a command; a hanging command fails its test with its name. */
const LIMIT_MS = 40_000;

/**
 * Runs kubectl with this kubeconfig, and a home in the same folder. @returns stdout @throws if the exit code is not 0
 */
export async function runKubectl(kubeconfig: string, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: dirname(kubeconfig), LANG: "C.UTF-8" };
  const { stdout } = await run("kubectl", ["--kubeconfig", kubeconfig, ...args], { env, timeout: LIMIT_MS });
  return stdout;
}

/** @returns kubectl for the cluster of a kubelet's inspector, once its node is up */
export async function kubectlOf(window: CliProcess): Promise<(...args: string[]) => Promise<string>> {
  // A long path is wrapped after a slash.
  const kubeconfig = (await window.says(/--kubeconfig (.*?\.config) get pods/)).replaceAll(" ", "");
  return (...args) => runKubectl(kubeconfig, args);
}
