import assert from "node:assert/strict";
import { test } from "vitest";
import { CommandHandler } from "../../../src/lab/virtual/command-handler.js";
import { hear, taskOf } from "./tasks.js";

const ENV = { PATH: process.env["PATH"] };
const handlerOf = (command: string) => new CommandHandler(command, ENV);

const rows: readonly [string, string, string][] = [
  ["echo out; echo err >&2", "Succeeded Completed 0: ", "out\nerr\n"],
  ["exit 3", "Failed Error 3: the command exited with 3", ""],
  ["kill -9 $$", "Failed Error 137: the command was ended by SIGKILL", ""],
  [`echo '{"result":"resized 3 of 3"}' >&3`, "Succeeded Completed 0: resized 3 of 3", ""],
  [`echo '{"result":{"phase":"Failed","reason":"NoInput","message":"m"}}' >&3; exit 4`, "Failed NoInput 4: m", ""],
  [`echo '{"result":7}' >&3`, "Failed HandlerResultInvalid 1: the handler returned 7; expected", ""],
  ["echo 'no json' >&3; printf '{' >&3", "Succeeded Completed 0: ", ""],
  ["echo $KUBELAB_POD_NAMESPACE/$KUBELAB_POD_NAME $A", "Succeeded Completed 0: ", "default/p 1\n"],
  ["sleep 1000 & echo started", "Succeeded Completed 0: ", "started\n"],
  ["no-such-program-at-all", "Failed Error 127: the command exited with 127", "*"],
];
for (const [command, want, wantLog] of rows) {
  test(`${command}: ${want}`, async () => {
    const { outcome, log } = await hear(handlerOf(command), taskOf("p", { A: "1" }));
    const { phase, reason, exitCode, message } = outcome ?? {};
    assert.equal(`${phase} ${reason} ${exitCode}: ${message}`.startsWith(want), true, `${reason} ${message}`);
    const sorted = (text: string) => text.split("\n").sort().join("\n");
    if (wantLog !== "*") assert.equal(sorted(log), sorted(wantLog));
  });
}

test("the command reads the pod from standard input", async () => {
  const { log } = await hear(handlerOf("cat"), taskOf("p"));
  assert.equal((JSON.parse(log) as ReturnType<typeof taskOf>).pod.metadata.name, "p");
});

test("progress is reported as it arrives", async () => {
  const said = `echo '{"progress":0.25,"message":"a"}' >&3; echo '{"message":"b"}' >&3`;
  const { progress } = await hear(handlerOf(said), taskOf("p"));
  assert.deepEqual(progress, [{ percent: 25, message: "a" }, { message: "b" }]);
});

test("100 MB of output arrive", async () => {
  const { logBytes, outcome } = await hear(handlerOf("head -c 100000000 /dev/zero"), taskOf("p"));
  assert.deepEqual([logBytes, outcome?.phase], [100_000_000, "Succeeded"]);
});

test("a stop sends SIGTERM to the command and its children", async () => {
  const abort = new AbortController();
  const { outcome } = await hear(handlerOf("echo ready; sleep 1000"), taskOf("p"), {
    abort,
    onEvent: () => abort.abort(),
  });
  assert.deepEqual([outcome?.reason, outcome?.exitCode], ["Cancelled", 143]);
});

test("a command that ignores SIGTERM is abandoned", async () => {
  const abort = new AbortController();
  const kill = new AbortController();
  const { outcome } = await hear(handlerOf("trap 'echo no' TERM; echo ready; while :; do sleep 1; done"), taskOf("p"), {
    abort,
    kill,
    onEvent: (event) => {
      const text = event.kind === "log" ? Buffer.from(event.bytes).toString() : "";
      if (text.includes("ready")) abort.abort();
      if (text.includes("no")) kill.abort();
    },
  });
  assert.deepEqual([outcome?.reason, outcome?.exitCode], ["Abandoned", 137]);
});
