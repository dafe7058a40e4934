import assert from "node:assert/strict";
import { afterEach, describe, test } from "vitest";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { Lab, playSteps, pod, SPEED } from "./lab.js";
import { type Refuses, RefusingProxy } from "./refusing-proxy.js";

const RUNS = "Running Ready c=running*/0";
const LIST_OR_WATCH = /^GET \/api\/v1\/pods\?/;
const STATUS_PATCH = /^PATCH \/api\/v1\/namespaces\/default\/pods\/\S+\/status/;

/** What is refused for a while, and what is said of each. */
const TABLE: readonly (readonly [name: string, refused: readonly RegExp[], said: RegExp])[] = [
  ["list and watch of pods", [LIST_OR_WATCH], /GET \/api\/v1\/pods was refused: 403 pods is forbidden/],
  ["status patches", [STATUS_PATCH], /PATCH for the status of default\/(web|later) was refused: pods is forbidden/],
  ["both", [LIST_OR_WATCH, STATUS_PATCH], /GET \/api\/v1\/pods was refused: 403 pods is forbidden/],
];

describe("the API server forbids the kubelet for a while", () => {
  let lab: Lab | undefined;
  let proxy: RefusingProxy | undefined;
  afterEach(async () => {
    await lab?.close();
    await proxy?.close();
    lab = undefined;
    proxy = undefined;
  });

  for (const [name, refused, said] of TABLE) {
    test(`${name}: it is said, pods run on, and what was missed is made up for`, async () => {
      const errors: string[] = [];
      const clock = new SystemClock(SPEED);
      const trace = new Trace(clock);
      trace.addSink({
        write(event) {
          if (event.kind === "error") errors.push(event.message);
        },
      });
      const between = async (config: Parameters<typeof RefusingProxy.open>[0]) => {
        proxy = await RefusingProxy.open(config);
        return proxy.config;
      };
      const own = await Lab.start({ between }, { clock, trace });
      lab = own;
      const gate = proxy as RefusingProxy | undefined;
      assert.ok(gate);
      await own.createPod(pod("web"));
      await playSteps(own, "web", [RUNS]);
      const { sandboxId } = own.sandboxOf("web");

      const refuses: Refuses = (request) => refused.some((one) => one.test(request));
      gate.refuse(refuses);
      // Each makes the kubelet ask for what it may not.
      own.runtime.killContainer(own.running("web").containerId, { exitCode: 3 });
      await own.createPod(pod("later"));
      for (const one of refused) await gate.untilRefused(one);
      assert.ok(!own.history.lines("web").some((line) => /Failed|gone/.test(line)));

      gate.allow();
      await playSteps(own, "web", ["Running Ready c=running*/1"]);
      await playSteps(own, "later", [RUNS]);
      assert.match(errors.join("\n"), said);
      assert.equal(own.sandboxOf("web").sandboxId, sandboxId, "the pod itself was left alone");
    });
  }
});
