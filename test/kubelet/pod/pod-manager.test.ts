import { describe, expect, test } from "vitest";
import { isMirrorPodOf, PodManager } from "../../../src/kubelet/pod/pod-manager.js";
import { CONFIG_HASH_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import { MIRROR_POD_ANNOTATION } from "../../../src/staging/apimachinery/corev1/pod-references.js";
import { makePod } from "../podworkers/pods.js";

const staticPod = (name: string, hash = "h") =>
  makePod(name, {
    uid: `static-${name}`,
    source: "file",
    metadata: { annotations: { [CONFIG_HASH_ANNOTATION]: hash } },
  });
const mirrorPod = (name: string, hash = "h", uid = `mirror-${name}`) =>
  makePod(name, { uid, metadata: { annotations: { [MIRROR_POD_ANNOTATION]: hash } } });

describe("translation between static pods and mirror pods", () => {
  for (const [what, pods] of [
    ["static pod first", [staticPod("s"), mirrorPod("s")]],
    ["mirror pod first", [mirrorPod("s"), staticPod("s")]],
  ] as const) {
    test(what, () => {
      const manager = new PodManager();
      for (const pod of pods) manager.addPod(pod);
      expect(manager.translatePodUid("mirror-s")).toBe("static-s");
      expect(manager.translatePodUid("static-s")).toBe("static-s");
      expect(manager.translatePodUid("stranger")).toBe("stranger");
      const { podToMirror, mirrorToPod } = manager.getUidTranslations();
      expect([[...podToMirror], [...mirrorToPod]]).toEqual([[["static-s", "mirror-s"]], [["mirror-s", "static-s"]]]);
      expect(manager.getMirrorPodByPod(staticPod("s"))?.metadata.uid).toBe("mirror-s");
      expect(manager.getPodByMirrorPod(mirrorPod("s"))?.metadata.uid).toBe("static-s");
    });
  }

  test("GetUIDTranslations maps a static pod without a mirror pod to an empty uid; it omits API pods", () => {
    const manager = new PodManager();
    manager.setPods([staticPod("s"), makePod("a")]);
    expect([...manager.getUidTranslations().podToMirror]).toEqual([["static-s", undefined]]);
  });

  test("a mirror pod that is gone is forgotten, one whose static pod is gone is an orphan", () => {
    const manager = new PodManager();
    manager.setPods([staticPod("s"), mirrorPod("s"), staticPod("t"), mirrorPod("t")]);
    manager.deletePod(mirrorPod("s"));
    manager.deletePod(staticPod("t"));
    expect(manager.translatePodUid("mirror-s")).toBe("mirror-s");
    expect(manager.getOrphanedMirrorPodNames()).toEqual(["t_default"]);
    expect(manager.getPodsAndMirrorPods().mirrorPods.map(({ metadata }) => metadata.uid)).toEqual(["mirror-t"]);
  });
});

test("pods are found by uid, full name and name; mirror pods are not among them", () => {
  const manager = new PodManager();
  manager.setPods([makePod("a"), mirrorPod("s")]);
  expect(manager.getPods().map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(manager.getPodByUid("uid-a")).toBe(manager.getPodByFullName("a_default"));
  expect(manager.getPodByName("default", "a")).toBe(manager.getPodByUid("uid-a"));
  expect(manager.getPodByUid("mirror-s")).toBeUndefined();
});

describe("isMirrorPodOf", () => {
  for (const [what, mirror, want] of [
    ["same name, same hash", mirrorPod("s"), true],
    ["another hash", mirrorPod("s", "old"), false],
    ["another name", mirrorPod("t"), false],
    ["no mirror pod at all", makePod("s"), false],
  ] as const) {
    test(`${what}: ${want}`, () => expect(isMirrorPodOf(mirror, staticPod("s"))).toBe(want));
  }
});
