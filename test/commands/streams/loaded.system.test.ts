import assert from "node:assert/strict";
import { test } from "vitest";
import { loadedBy } from "../../support/loaded-by.js";

/** The modules that a cluster and a command over SPDY need. */
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
  /node_modules\/ws\/|^src\/streaming\/websocket\/(?!subprotocols)|^src\/testbed\/runtime-servers|^src\/commands\/exec\/run-serve/;

test("a command over SPDY loads no WebSockets, and no servers of another command", async () => {
  const { inputs } = await loadedBy(ENTRIES);
  assert.ok(inputs.has("src/staging/streaming/remote-command/spdy-server.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => UNUSED.test(name)),
    [],
  );
});
