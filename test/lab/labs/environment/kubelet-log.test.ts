import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, test } from "vitest";
import { KubeletLog } from "../../../../src/lab/labs/environment/kubelet-log.js";

describe("the log of a lab's kubelet", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "kubelet-log-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("a line is in the file after the turn that wrote it", async () => {
    const path = join(folder, "kubelet.log");
    const log = new KubeletLog(path);
    log.write("Serve GET /containerLogs/default/web/web\n");
    log.write("▸ second\n");
    await setImmediate();
    assert.equal(readFileSync(path, "utf8"), "Serve GET /containerLogs/default/web/web\n▸ second\n");
    log.close();
  });

  test("closing writes what is left, and what comes later is dropped", async () => {
    const path = join(folder, "kubelet.log");
    const log = new KubeletLog(path);
    log.write("last\n");
    log.close();
    log.write("too late\n");
    log.close();
    await setImmediate();
    assert.equal(readFileSync(path, "utf8"), "last\n");
  });

  test("a later kubelet's lines follow the earlier ones", () => {
    const path = join(folder, "kubelet.log");
    for (const text of ["one\n", "two\n"]) {
      const log = new KubeletLog(path);
      log.write(text);
      log.close();
    }
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
  });
});
