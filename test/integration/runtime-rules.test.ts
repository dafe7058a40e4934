import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { CriDriver } from "../cluster/runtime/cri-driver.js";
import {
  BAD_REQUESTS,
  CONTAINER_CALLS,
  CONTAINER_STATES,
  containerIn,
  OTHER_IN_CONTAINERD,
  OUR_ANSWERS,
  SANDBOX_CALLS,
  SANDBOX_STATES,
  sandboxIn,
} from "../cluster/runtime/state-rules.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { suiteNeeding } from "../support/requirements.js";

/** OK, NotFound, or any other refusal: containerd answers Unknown where our runtime is more specific. */
function kindOf(code: string): string {
  return code === "OK" || code === "NotFound" || code === "DeadlineExceeded" ? code : "refused";
}

suiteNeeding(["containerd", "busybox-static", "root"], "the state rules, on a real containerd", () => {
  let containerd: TestContainerd;
  let cri: CriDriver;
  beforeAll(async () => {
    containerd = await startContainerd();
    cri = new CriDriver(containerd.endpoint, BUSYBOX_IMAGE, true);
  });
  afterAll(async () => {
    await cri?.close();
    await containerd?.stop();
  });

  async function compare(rows: readonly (readonly [string, string, () => Promise<string>])[]): Promise<void> {
    for (const [name, ours, ask] of rows) {
      const theirs = kindOf(await ask());
      if (name in OTHER_IN_CONTAINERD) assert.notEqual(theirs, kindOf(ours), `${name} is listed, but does not differ`);
      else assert.equal(theirs, kindOf(ours), name);
    }
  }

  for (const [name, call] of Object.entries(CONTAINER_CALLS)) {
    test(`${name}: as ours, or listed`, async () => {
      const ours = OUR_ANSWERS[name]?.split(" ") ?? [];
      await compare(
        CONTAINER_STATES.map((state, index) => [
          `${name} ${state}`,
          ours[index] ?? "",
          async () => call(await containerIn(state, cri), cri),
        ]),
      );
    });
  }

  for (const [name, call] of Object.entries(SANDBOX_CALLS)) {
    test(`${name}: as ours, or listed`, async () => {
      const ours = OUR_ANSWERS[name]?.split(" ") ?? [];
      await compare(
        SANDBOX_STATES.map((state, index) => [
          `${name} ${state}`,
          ours[index] ?? "",
          async () => call(await sandboxIn(state, cri), cri),
        ]),
      );
    });
  }

  test("requests that are wrong in themselves: as ours", async () => {
    await compare(Object.entries(BAD_REQUESTS).map(([name, call]) => [name, OUR_ANSWERS[name] ?? "", () => call(cri)]));
  });
});
