import { describe, expect, test } from "vitest";
import {
  getContainerInfoFromAnnotations,
  newContainerAnnotations,
  newContainerLabels,
  newPodLabels,
} from "../../../src/kubelet/kuberuntime/labels.js";
import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
} from "../../../src/staging/cri/labels.js";

describe("labels and annotations", () => {
  const owner = {
    metadata: { name: "web", namespace: "default", uid: "u1", labels: { app: "web", [POD_UID_LABEL]: "lie" } },
    spec: { terminationGracePeriodSeconds: 0 },
  };
  test("a sandbox carries the pod's labels, the kubelet's own win", () => {
    expect(newPodLabels(owner)).toEqual({
      app: "web",
      [POD_NAME_LABEL]: "web",
      [POD_NAMESPACE_LABEL]: "default",
      [POD_UID_LABEL]: "u1",
    });
  });
  test("a container carries whose it is, not the pod's labels", () => {
    expect(newContainerLabels({ name: "app" }, owner)).toEqual({
      [CONTAINER_NAME_LABEL]: "app",
      [POD_NAME_LABEL]: "web",
      [POD_NAMESPACE_LABEL]: "default",
      [POD_UID_LABEL]: "u1",
    });
  });
  test("a container's annotations are read back as written", () => {
    const spec = {
      name: "app",
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      lifecycle: { preStop: { exec: { command: ["sync"] } } },
      ports: [{ containerPort: 80 }],
    };
    const annotations = newContainerAnnotations(spec, owner, { restartCount: 3, hash: 0xabcdef12 });
    expect(annotations).toEqual({
      "io.kubernetes.container.hash": "abcdef12",
      "io.kubernetes.container.restartCount": "3",
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "File",
      "io.kubernetes.container.preStopHandler": '{"exec":{"command":["sync"]}}',
      "io.kubernetes.container.ports": '[{"containerPort":80}]',
      "io.kubernetes.pod.terminationGracePeriod": "0",
    });
    expect(getContainerInfoFromAnnotations(annotations)).toEqual({
      hash: 0xabcdef12,
      restartCount: 3,
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
    });
  });
  for (const nonsense of ["", "x", "0x10", "1g", "-", " 7"]) {
    test(`the hash ${JSON.stringify(nonsense)} counts as none`, () => {
      expect(getContainerInfoFromAnnotations({ "io.kubernetes.container.hash": nonsense }).hash).toBe(0);
    });
  }
});
