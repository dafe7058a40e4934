import { expect, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { TestEtcd } from "../support/etcd.js";
import { suiteNeeding } from "../support/requirements.js";
import { runInProcess } from "../support/run-cli.js";

suiteNeeding(["etcd"], "commands that start a control plane on etcd", () => {
  test("the next command finds what the last one has written; without the flag it does not", async () => {
    const etcd = await TestEtcd.start();
    try {
      const created = await runInProcess(["token", "create", "abcdef.0123456789abcdef", "--etcd", etcd.url]);
      expect([created.code, created.stdout.trim()]).toEqual([0, "abcdef.0123456789abcdef"]);
      const listed = await runInProcess(["token", "list", "--etcd", etcd.url]);
      expect(listed.stdout).toContain("abcdef");
      expect((await runInProcess(["token", "list"])).stdout).not.toContain("abcdef");
    } finally {
      await etcd.stop();
    }
  });

  test("cluster down ends a cluster whose etcd is dead, without a kill", async () => {
    const etcd = await TestEtcd.start();
    const home = newHome();
    try {
      const up = await runCliProcess(
        home,
        "cluster",
        "up",
        "--etcd",
        etcd.url,
        "--detach",
        "--nodes",
        "1",
        "--simulated",
      );
      expect([up.code, up.stderr]).toEqual([0, expect.any(String)]);
    } finally {
      await etcd.stop();
    }
    const down = await runCliProcess(home, "cluster", "down");
    expect([down.code, down.stdout, down.stderr]).toEqual([0, "cluster kubelab is down\n", ""]);
  });

  test("cluster up, in the background too: exit 4 when etcd refuses", async () => {
    const etcd = await TestEtcd.start();
    try {
      await etcd.ctl("user", "add", "root:secret");
      await etcd.ctl("user", "grant-role", "root", "root");
      await etcd.ctl("auth", "enable");
      for (const flags of [[], ["--detach"]]) {
        const ended = await runCliProcess(newHome(), "cluster", "up", "--etcd", etcd.url, ...flags);
        expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining("etcd refuses: ")]);
      }
    } finally {
      await etcd.stop();
    }
  });
});

const refused = [
  [["--etcd", "http://127.0.0.1:1", "--kubeconfig", "f"], 2, "--etcd is for the embedded control plane"],
  [["--etcd-cafile", "f"], 2, "files for etcd need --etcd"],
  [["--etcd", "http://root:secret@127.0.0.1:1"], 2, "--etcd takes no user and no password"],
  [["--etcd", "http://127.0.0.1:1"], 3, "etcd does not answer: http://127.0.0.1:1"],
] as const;
for (const [flags, code, message] of refused) {
  test(`token list ${flags.join(" ")}: exit ${code}`, async () => {
    const ended = await runInProcess(["token", "list", ...flags]);
    expect([ended.code, ended.stderr.replaceAll(/\s+/g, " ")]).toEqual([code, expect.stringContaining(message)]);
  });
}
