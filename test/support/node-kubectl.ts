import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { CliProcess } from "./cli-process.js";

const run = promisify(execFile);
/** No command may take longer: what hangs fails its test with the command's name. */
const LIMIT_MS = 40_000;

/** Runs kubectl with this kubeconfig, with a home beside it. @returns stdout @throws when it exits with anything but 0 */
export async function runKubectl(kubeconfig: string, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: dirname(kubeconfig), LANG: "C.UTF-8" };
  const { stdout } = await run("kubectl", ["--kubeconfig", kubeconfig, ...args], { env, timeout: LIMIT_MS });
  return stdout;
}

/** @returns kubectl for the cluster of a window into a kubelet, once its node is up */
export async function kubectlOf(window: CliProcess): Promise<(...args: string[]) => Promise<string>> {
  // A long path is wrapped behind a slash.
  const kubeconfig = (await window.says(/--kubeconfig (.*?\.config) get pods/)).replaceAll(" ", "");
  return (...args) => runKubectl(kubeconfig, args);
}
