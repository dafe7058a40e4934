import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "kubelab-tests-";

/** Gives the test run one temporary folder for its tests and their processes, and deletes it at the end. */
export function setup(): () => void {
  // Each project runs the set-up; they share the folder of the first. A nested one makes paths of sockets too long.
  if (tmpdir().includes(PREFIX)) return () => {};
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
