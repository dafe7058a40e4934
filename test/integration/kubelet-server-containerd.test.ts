import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { ManagerLab, podOf } from "../kubelet/kuberuntime/lab.js";
import { Chain } from "../kubelet/server/chain.js";
import { chainTests } from "../kubelet/server/chain-tests.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["containerd", "busybox-static", "root"], "the kubelet's server before a real containerd", () => {
  let containerd: TestContainerd;
  let chain: Chain;
  beforeAll(async () => {
    containerd = await startContainerd();
    const clock = new SystemClock();
    const lab = new ManagerLab(containerd.client, clock, new Trace(clock), containerd.folder, {});
    const command = ["/bin/sh", "-c", "echo begun; exec sleep 1000"];
    const container = { name: "app", image: BUSYBOX_IMAGE, imagePullPolicy: "Never", command };
    const pod = podOf([container], { hostNetwork: true });
    assert.equal((await lab.sync(pod)).error, undefined);
    chain = await Chain.start(lab, pod);
    await chain.untilWritten();
  });
  afterAll(async () => {
    await chain?.server.close();
    await containerd?.stop();
  });

  chainTests(() => chain, 4);

  test("a containerd of this age refuses v5 with 403", async () => {
    assert.deepEqual(await chain.exec(["true"], "v5"), [403]);
  });
});
