import { execFile } from "node:child_process";
import { parse } from "yaml";

/** A case of the suite. */
export interface Case {
  /** the full name: `[sig-node] Pods should be updated [NodeConformance] [Conformance]` */
  readonly name: string;
  /** the folder of its source below test/e2e: `common` */
  readonly group: string;
}

/** How a case ended. `error` is its first line. */
export type Outcome = { readonly kind: "passed" | "skipped" } | { readonly kind: "failed"; readonly error: string };

/** The groups that the summary lists. */
export const GROUPS = ["api-machinery", "apps", "auth", "common", "kubectl", "network", "node", "scheduling"] as const;

const MAX_ERROR_LENGTH = 200;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * The conformance cases of an e2e binary that are in `GROUPS` and match `focus`, in the binary's order.
 * @throws if the binary does not print its list
 */
export async function listCases(binary: string, focus: RegExp): Promise<readonly Case[]> {
  const { output } = await run(binary, ["--list-conformance-tests"], undefined);
  if (!output.startsWith("- "))
    throw new Error(`${binary} --list-conformance-tests: ${firstLine(output, "no output")}`);
  const list: unknown = parse(output);
  if (!Array.isArray(list)) return [];
  return list
    .flatMap((one: { readonly codename?: string; readonly file?: string } | null) => {
      const group = one?.file?.split("/")[2]?.replace("apimachinery", "api-machinery");
      return one?.codename !== undefined && group !== undefined ? [{ name: one.codename, group }] : [];
    })
    .filter(({ name, group }) => GROUPS.some((known) => known === group) && focus.test(name));
}

/**
 * Runs one case. It fails if it has not ended after `timeoutMs`.
 * @param args options for the binary: the kubeconfig and the provider
 */
export async function runCase(
  binary: string,
  args: readonly string[],
  { name }: Case,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<{ readonly outcome: Outcome; readonly output: string }> {
  const focus = `${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const options = ["--ginkgo.noColor", `--ginkgo.focus=${focus}`];
  const { output, isTimeout } = await run(binary, [...args, ...options], timeoutMs, signal);
  const outcome = isTimeout
    ? ({ kind: "failed", error: `no result after ${timeoutMs / 1000} s: ${lastStep(output)}` } as const)
    : outcomeOf(output);
  return { outcome, output };
}

/** Reads the outcome of a run with a single case from ginkgo's report. */
export function outcomeOf(output: string): Outcome {
  const counts = /(\d+) Passed \| (\d+) Failed/.exec(output);
  if (counts === null) return { kind: "failed", error: firstLine(output.slice(-2_000), "no report") };
  if (counts[2] !== "0") return { kind: "failed", error: errorIn(output) };
  return { kind: counts[1] === "0" || /^S \[SKIPPING\]/m.test(output) ? "skipped" : "passed" };
}

/** The message of the report's `Failure` block: what follows the indented source line of the failed node. */
function errorIn(output: string): string {
  const block = /^• Failure[^\n]*\n([\s\S]*?)^-{10,}$/m.exec(output)?.[1] ?? "";
  const message = /^ +\S*\.go:\d+\n\n([\s\S]*)/m.exec(block)?.[1] ?? block;
  const lines = message.split("\n").map((line) => line.trim());
  // gomega prints an error as a Go value, and then its text; and a comparison in several lines.
  const text = lines.lastIndexOf("occurred");
  if (text > 0) return lines[text - 1] ?? "";
  const first = firstLine(message, "no message");
  return first.startsWith("Expected") ? lines.join(" ").replace(/\s+/g, " ").trim().slice(0, MAX_ERROR_LENGTH) : first;
}

function lastStep(output: string): string {
  return output.match(/^STEP: .*$/gm)?.at(-1) ?? firstLine(output, "no output");
}

function firstLine(text: string, otherwise: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "");
  return (line ?? otherwise).trim().replace(/^\w{3} +\d+ [\d:.]+: /, "");
}

function run(
  binary: string,
  args: readonly string[],
  timeoutMs: number | undefined,
  signal?: AbortSignal,
): Promise<{ readonly output: string; readonly isTimeout: boolean }> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: MAX_OUTPUT_BYTES, killSignal: "SIGKILL", timeout: timeoutMs ?? 0, signal } as const;
    execFile(binary, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code === "string" && error.name !== "AbortError") reject(error);
      else resolve({ output: `${stdout}${stderr}`, isTimeout: error?.killed === true });
    });
  });
}
