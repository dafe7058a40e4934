import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import { lockFolder } from "../../../src/kubelet/certificate/folder-lock.js";

describe("a node's folder", () => {
  const others: ReturnType<typeof spawn>[] = [];
  afterEach(() => {
    for (const other of others.splice(0)) other.kill("SIGKILL");
  });

  const folder = () => mkdtempSync(join(tmpdir(), "kubelab-lock-"));

  /** A process that runs, and what it would write to its lock. */
  function other(): { readonly pid: number; readonly lock: string } {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    others.push(child);
    const pid = child.pid ?? 0;
    const stat = existsSync("/proc/self/stat") ? readFileSync(`/proc/${pid}/stat`, "utf8") : "";
    return { pid, lock: `${pid} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""}`.trim() };
  }

  test("is locked by one, and nothing of the lock is left afterwards", async () => {
    const path = join(folder(), "n1");
    {
      await using _lock = await lockFolder(path);
      expect(readFileSync(join(path, "kubelet.lock"), "utf8")).toMatch(new RegExp(`^${process.pid}\\b.*\n$`));
    }
    expect(existsSync(path)).toBe(false);
  });

  test("with files in it, it stays", async () => {
    const path = folder();
    {
      await using _lock = await lockFolder(path);
      writeFileSync(join(path, "kubelet.key"), "");
    }
    expect(readdirSync(path)).toEqual(["kubelet.key"]);
  });

  test("is refused to a second process, which touches nothing: neither the lock nor the kubeconfig", async () => {
    const path = folder();
    const { pid, lock } = other();
    writeFileSync(join(path, "kubelet.lock"), `${lock}\n`);
    writeFileSync(join(path, "kubelab-admin.config"), "");
    const refused = { code: "BAD_FILE", message: expect.stringContaining(`(pid ${pid}) already uses`) };
    await expect(lockFolder(path)).rejects.toMatchObject(refused);
    await expect(openCertificateStore(path)).rejects.toMatchObject(refused);
    expect(readdirSync(path).sort()).toEqual(["kubelab-admin.config", "kubelet.lock"]);
  });

  const stale: readonly [string, () => string][] = [
    ["a process that is gone", () => "4194305 12345\n"],
    ["an earlier process with the number of one that runs", () => `${other().pid} 1\n`],
    ["an earlier process with our number", () => `${process.pid} 1\n`],
    ["nobody: it was half written", () => ""],
  ];
  for (const [who, text] of stale) {
    test(`is free with the lock of ${who}`, async () => {
      const path = folder();
      writeFileSync(join(path, "kubelet.lock"), text());
      await using _lock = await lockFolder(path);
      expect(readFileSync(join(path, "kubelet.lock"), "utf8")).toMatch(new RegExp(`^${process.pid}\\b`));
    });
  }
});
