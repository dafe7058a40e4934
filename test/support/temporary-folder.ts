import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives the whole test run one folder for all that its tests and their processes make, and takes it away at the end. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-tests-"));
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
