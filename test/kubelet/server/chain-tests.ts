import assert from "node:assert/strict";
import { test } from "vitest";
import type { Chain } from "./chain.js";

/**
 * What holds of every runtime behind the server.
 * @param atOnce so many commands at the same time: a real process costs its machine some
 */
export function chainTests(chain: () => Chain, atOnce: number): void {
  for (const protocol of ["spdy", "v4"] as const) {
    test(`a command over ${protocol}: both outputs and the exit code`, async () => {
      const seen = await chain().exec(["sh", "-c", "echo out; echo err >&2; exit 3"], protocol);
      assert.deepEqual(seen, { stdout: "out\n", stderr: "err\n", exitCode: 3 });
    });
  }

  test("what is typed reaches the command", async () => {
    const seen = await chain().exec(["cat"], "spdy", "typed\n");
    assert.deepEqual(seen, { stdout: "typed\n", stderr: "", exitCode: 0 });
  });

  test(`${atOnce} commands at once`, async () => {
    const all = Array.from({ length: atOnce }, (_, i) => chain().exec(["echo", String(i)], "spdy"));
    const outputs = (await Promise.all(all)).map((seen) => ("stdout" in seen ? seen.stdout : seen));
    assert.deepEqual(
      outputs,
      Array.from({ length: atOnce }, (_, i) => `${i}\n`),
    );
  });

  test("/run gives the output of a command that went well, and the error of one that did not", async () => {
    const run = chain().path("run");
    assert.deepEqual(await chain().ask(`${run}?cmd=echo%20hi`, "POST"), { status: 200, text: "hi\n" });
    const failed = await chain().ask(`${run}?cmd=ls%20/none`, "POST");
    assert.equal(failed.status, 500);
    assert.match(failed.text, /^command 'ls \/none' exited with [12]: .*\/none/);
  });

  test("/containerLogs: what the container has said", async () => {
    const logs = chain().path("containerLogs");
    assert.deepEqual(await chain().ask(logs), { status: 200, text: "begun\n" });
    const timed = await chain().ask(`${logs}?timestamps=true&tailLines=1`);
    assert.match(timed.text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) begun\n$/);
    assert.deepEqual(await chain().ask(`${logs}?previous=true`), {
      status: 400,
      text: `previous terminated container "app" in pod "${chain().pod.metadata.name}" not found`,
    });
  });

  const refused = [
    ["exec", "none", 500, 'container not found ("none")'],
    ["run", "none", 500, 'container not found ("none")'],
    ["attach", "none", 500, "container none not found in pod POD_default"],
  ] as const;
  for (const [what, container, status, text] of refused) {
    test(`/${what} of a container that does not run is ${status}`, async () => {
      const seen = await chain().ask(`${chain().path(what, container)}?output=1&command=x`, "POST");
      assert.deepEqual(seen, { status, text: text.replace("POD", chain().pod.metadata.name) });
    });
  }

  test("/runningpods/ and /stats/summary show what the runtime has", async () => {
    const { name, uid } = chain().pod.metadata;
    const { items } = JSON.parse((await chain().ask("/runningpods/")).text);
    assert.deepEqual([items[0].metadata.name, items[0].metadata.uid], [name, uid]);
    assert.equal(items[0].spec.containers[0].name, "app");
    const summary = JSON.parse((await chain().ask("/stats/summary")).text);
    assert.equal(summary.node.nodeName, "n1");
    assert.equal(summary.pods[0].podRef.name, name);
    assert.equal(summary.pods[0].containers[0].name, "app");
    assert.ok(summary.pods[0].containers[0].memory.workingSetBytes >= 0);
  });
}
