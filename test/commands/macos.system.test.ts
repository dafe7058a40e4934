import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";

/** As long as `/private/var/folders/xx/<30 characters>/T` is on macOS. */
const TMPDIR = join(tmpdir(), "m".repeat(Math.max(1, 59 - tmpdir().length - 1)));
mkdirSync(TMPDIR, { recursive: true });
const ENV = { TMPDIR, NODE_OPTIONS: `--require ${resolve("test/support/as-macos.cjs")}` };
const home = newHome();

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
writeFileSync(join(home, "pod.json"), JSON.stringify(POD));
writeFileSync(join(home, "answers"), "secrets: no-secrets\nwrong-half: unauthorized\n");

/** Command lines that end by themselves, in this order, and what they print. */
const COMMANDS: readonly (readonly [line: string, printed: RegExp])[] = [
  ["bootstrap --yes", /node-1 has joined .* and is Ready/],
  ["exec nettool -- ls /", /^etc$/m],
  ["pleg --duration 1s --trace pleg.ndjson", /relists? of kubelab in .*, 0 failed/],
  ["journey", /counts pod default\/web as Running/],
  ["lease --stop-after 1 --speed 20", /declared Unknown/],
  ["cluster up --detach", /cluster kubelab is ready, in the background/],
  ["cluster status", /cluster kubelab is running/],
  ["cluster down", /cluster kubelab is down/],
  ["learn list", /^ *\d+ +tour /m],
  ["learn start tokens --yes --answers answers", /predictions +2 of 2 right/],
];

describe("without /proc, with a long TMPDIR and the shorter paths of macOS's sockets", () => {
  for (const [line, printed] of COMMANDS) {
    test(`kubelab ${line}`, async () => {
      const { code, stdout, stderr } = await new CliProcess(home, line.split(" "), ENV).ended;
      expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(printed)]);
    });
  }

  test("a node runs a pod until it is interrupted", async () => {
    const node = new CliProcess(home, ["node", "--manifest-dir", "pod.json", "--port", "0"], ENV);
    onTestFinished(() => void node.kill("SIGKILL"));
    await node.says(/pod default\/web-node-1: phase Pending (?:->|→) Running/);
    expect((await node.kill("SIGINT")).stderr).not.toMatch(/has a bug/);
  });

  describe("a state folder whose path is too long for a socket", () => {
    const env = { ...ENV, XDG_STATE_HOME: join(TMPDIR, "Library", "Application Support") };
    const learn = (...argv: string[]) => new CliProcess(home, ["learn", ...argv], env).ended;
    afterAll(() => learn("stop"));

    test("a lab in the background is served from a shorter one", async () => {
      expect((await learn("start", "tokens", "--detach")).stderr).not.toMatch(/error|bug/);
      expect(readdirSync(TMPDIR)).toContainEqual(expect.stringMatching(/^kubelab-learn-/));
      expect(await learn("hint")).toMatchObject({ code: 0 });
      await learn("stop");
      expect(readdirSync(TMPDIR)).not.toContainEqual(expect.stringMatching(/^kubelab-learn-/));
    });

    test("a runtime's socket is refused", async () => {
      const { code, stderr } = await new CliProcess(home, ["runtime", "up"], env).ended;
      expect([code, stderr.replaceAll(/\s+/g, " ")]).toEqual([2, expect.stringMatching(/at most 103 bytes/)]);
    });
  });
});
