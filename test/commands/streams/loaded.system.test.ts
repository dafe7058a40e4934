import assert from "node:assert/strict";
import { test } from "vitest";
import { bundledInCli, loadedBy } from "../../support/loaded-by.js";

/** The modules that a cluster, its runtime's process and a command over SPDY need. */
const ENTRIES = [
  "src/commands/streams/exec.ts",
  "src/commands/streams/run-exec.ts",
  "src/testbed/fixtures/sample-node.ts",
  "src/cluster/control-plane/start.ts",
  "src/cluster/apiserver/proxy/upgrade.ts",
  "src/cluster/runtime/start.ts",
  "src/cluster/runtime/streaming/exec.ts",
  "src/staging/streaming/remote-command/accept.ts",
];
const UNUSED =
  /node_modules\/ws\/|^src\/staging\/streaming\/websocket\/(?!subprotocols|separate-records)|^src\/testbed\/fixtures\/runtime-servers|^src\/commands\/streams\/run-serve/;

test("a command over SPDY loads no WebSockets, and no servers of another command", async () => {
  const { inputs } = await loadedBy(ENTRIES);
  assert.ok(inputs.has("src/staging/streaming/remote-command/spdy-server.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => UNUSED.test(name)),
    [],
  );
});

/** What is loaded before the runtime's process starts. */
const FIRST = [
  "src/commands/main.ts",
  "src/commands/streams/exec.ts",
  "src/commands/streams/attach.ts",
  "src/testbed/target/target.ts",
  "src/cluster/runtime/host/host.ts",
];
const CLUSTER = /^src\/(kubelet|cluster\/(apiserver|control-plane|controllers|scheduler))\/|node_modules\/@grpc\//;
const MAX_FIRST_BYTES = 278_000;

test("the runtime's process starts before the command loads a cluster", async () => {
  const { inputs, bytes } = await loadedBy(FIRST);
  assert.ok(inputs.has("src/cluster/runtime/host/runtime-process.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => CLUSTER.test(name)),
    [],
  );
  assert.ok(bytes < MAX_FIRST_BYTES, `${bytes} bytes of code`);
});

/** The runtime and the programs of its containers; commands know their names, signals and units of work. */
const RUNTIME =
  /^src\/cluster\/(runtime\/(start|calls|logs|stats|streaming)|shell\/(?!process\/(signals|cpu)))|node_modules\/(just-bash|undici)\//;

test("no command runs containers in its own process; scenarios do, on held time", async () => {
  const inputs = await bundledInCli("src/cluster/runtime/host/here.ts");
  assert.ok(inputs.has("src/cluster/runtime/host/runtime-process.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => RUNTIME.test(name)),
    [],
  );
});
