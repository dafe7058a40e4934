import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { ImageGcManager } from "../../src/kubelet/images/image-gc-manager.js";
import { FileSystems } from "../../src/kubelet/stats/file-systems.js";
import { getDirFsInfo } from "../../src/kubelet/stats/fs-info.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { ManagerLab } from "../kubelet/kuberuntime/lab.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { busyboxImage } from "../support/oci-image.js";
import { suiteNeeding } from "../support/requirements.js";

const UNUSED_IMAGE = "docker.io/library/unused:test";
const { signal } = new AbortController();

suiteNeeding(["containerd", "busybox-static", "root"], "the collection of images, on a real containerd", () => {
  let containerd: TestContainerd;
  const folder = mkdtempSync(join(tmpdir(), "kubelab-image-gc-"));
  beforeAll(async () => {
    const files = [{ name: "unused", bytes: Buffer.from("unused") }];
    containerd = await startContainerd({ images: [busyboxImage([UNUSED_IMAGE], { files })] });
  });
  afterAll(async () => {
    await containerd?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the machine measures the runtime's file system; an unused image goes, the sandboxes' stays", async () => {
    const clock = new SystemClock();
    const trace = new Trace(clock);
    const { manager } = new ManagerLab(containerd.client, clock, trace, folder, {});
    const fileSystems = new FileSystems({ imageService: containerd.client.images, getDirFsInfo, clock }, folder);
    const { capacityBytes = 0, availableBytes = 0 } = await fileSystems.imageFsStats(signal);
    assert.ok(capacityBytes > availableBytes, `${availableBytes} of ${capacityBytes} bytes`);
    assert.equal(await fileSystems.hasDedicatedImageFs(signal), false);

    const names = async () => (await manager.listImages(signal)).flatMap(({ repoTags }) => repoTags);
    assert.ok((await names()).includes(UNUSED_IMAGE));
    const failures: string[] = [];
    const full = async () => ({ capacityBytes: 1_000, availableBytes: 0 });
    const agent = { recordEvent: (_: string, reason: string) => void failures.push(reason) };
    const policy = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 0 };
    const imageGc = new ImageGcManager({ runtime: manager, imageFsStats: full, agent, clock, trace }, policy);
    await imageGc.garbageCollect(signal);
    assert.ok(!(await names()).includes(UNUSED_IMAGE), "the unused image is gone");
    // It is the sandboxes' image as well.
    assert.ok((await names()).includes(BUSYBOX_IMAGE));
    assert.deepEqual(failures, []);
  });
});
