import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { CriDriver } from "./cri-driver.js";
import {
  BAD_REQUESTS,
  CONTAINER_CALLS,
  CONTAINER_STATES,
  containerIn,
  OUR_ANSWERS,
  SANDBOX_CALLS,
  SANDBOX_STATES,
  sandboxIn,
} from "./state-rules.js";

describe("which call in which state gives which code", () => {
  let runtime: RunningRuntime;
  let cri: CriDriver;
  beforeAll(async () => {
    const clock = new SystemClock();
    runtime = await startRuntime({ clock, random: new SystemRandom(), trace: new Trace(clock), images: ["busybox"] });
    cri = new CriDriver(runtime.endpoint, "busybox");
  });
  afterAll(async () => {
    await cri.close();
    await runtime.close();
  });

  for (const [name, call] of Object.entries(CONTAINER_CALLS)) {
    test(`${name} of a container that is ${CONTAINER_STATES.join(", ")}: ${OUR_ANSWERS[name]}`, async () => {
      const seen: string[] = [];
      for (const state of CONTAINER_STATES) seen.push(await call(await containerIn(state, cri), cri));
      assert.equal(seen.join(" "), OUR_ANSWERS[name]);
    });
  }

  for (const [name, call] of Object.entries(SANDBOX_CALLS)) {
    test(`${name} of a sandbox that is ${SANDBOX_STATES.join(", ")}: ${OUR_ANSWERS[name]}`, async () => {
      const seen: string[] = [];
      for (const state of SANDBOX_STATES) seen.push(await call(await sandboxIn(state, cri), cri));
      assert.equal(seen.join(" "), OUR_ANSWERS[name]);
    });
  }

  for (const [name, call] of Object.entries(BAD_REQUESTS)) {
    test(`${name}: ${OUR_ANSWERS[name]}`, async () => {
      assert.equal(await call(cri), OUR_ANSWERS[name]);
    });
  }
});
