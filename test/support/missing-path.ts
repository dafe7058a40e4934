import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A path below a folder that does not exist, in a new one: a fixed path may exist on some machine. */
export function missingPath(...names: readonly string[]): string {
  return join(mkdtempSync(join(tmpdir(), "missing-")), "none", ...names);
}
