import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface OpensslResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A scratch folder with an `openssl` in it; gone with `close`. */
export class Openssl {
  readonly folder = mkdtempSync(join(tmpdir(), "kubelab-openssl-"));

  run(args: readonly string[], input?: string): OpensslResult {
    const result = spawnSync("openssl", [...args], { cwd: this.folder, input, encoding: "utf8" });
    return { ok: result.status === 0, stdout: result.stdout, stderr: result.stderr };
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
