import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  containerSecurityContext,
  type ImageUser,
  sandboxSecurityContext,
  verifyRunAsNonRoot,
} from "../../../src/kubelet/kuberuntime/security-context.js";
import { NamespaceMode, ProfileType } from "../../../src/staging/cri/messages/enums.js";
import { podOf } from "./lab.js";

/** A message in a message may be one that is encoded already: here none is. */
const fieldsOf = (message: unknown) => message as Readonly<Record<string, unknown>>;
const first = (pod: ReturnType<typeof podOf>) => (pod.spec.containers?.[0] ?? { name: "" }) as never;

describe("security", () => {
  const where = (pod: ReturnType<typeof podOf>) =>
    `(pod: "${pod.metadata.name}_default(${pod.metadata.uid})", container: c0)`;
  const root: ImageUser = { uid: 0, username: "" };
  const table: readonly [string, object, object, ImageUser, string | undefined][] = [
    ["nothing asked", {}, {}, root, undefined],
    ["root may be", {}, { runAsNonRoot: false }, root, undefined],
    ["the image is root", {}, { runAsNonRoot: true }, root, "container has runAsNonRoot and image will run as root"],
    ["... says the pod", { runAsNonRoot: true }, {}, root, "container has runAsNonRoot and image will run as root"],
    ["... and the container says otherwise", { runAsNonRoot: true }, { runAsNonRoot: false }, root, undefined],
    ["a user is given", { runAsUser: 5 }, { runAsNonRoot: true }, root, undefined],
    ["root is given", { runAsUser: 0 }, { runAsNonRoot: true }, root, "container's runAsUser breaks non-root policy"],
    ["the image has a number", {}, { runAsNonRoot: true }, { uid: 7, username: "" }, undefined],
    [
      "the image has a name",
      {},
      { runAsNonRoot: true },
      { username: "app" },
      "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root",
    ],
  ];
  for (const [name, podContext, securityContext, image, want] of table) {
    test(`non-root: ${name}`, () => {
      const pod = podOf([{ securityContext }], { securityContext: podContext });
      assert.equal(
        verifyRunAsNonRoot(pod, first(pod), image),
        want === undefined ? undefined : `${want} ${where(pod)}`,
      );
    });
  }

  test("a container's own settings go before the pod's", () => {
    const pod = podOf(
      [
        {
          securityContext: {
            runAsUser: 1,
            privileged: true,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
            seccompProfile: { type: "Localhost", localhostProfile: "p.json" },
          },
        },
      ],
      {
        hostPID: true,
        securityContext: {
          runAsUser: 2,
          runAsGroup: 3,
          fsGroup: 4,
          supplementalGroups: [5],
          seccompProfile: { type: "RuntimeDefault" },
        },
      },
    );
    const options = { seccompProfileRoot: "/root/seccomp", extraGroups: [6], targetId: "target" };
    const { maskedPaths, readonlyPaths, ...made } = containerSecurityContext(pod, first(pod), root, options);
    assert.deepEqual(made, {
      capabilities: { addCapabilities: ["NET_ADMIN"], dropCapabilities: ["ALL"] },
      privileged: true,
      namespaceOptions: {
        network: NamespaceMode.POD,
        ipc: NamespaceMode.POD,
        pid: NamespaceMode.TARGET,
        targetId: "target",
      },
      runAsUser: { value: 1 },
      runAsGroup: { value: 3 },
      readonlyRootfs: true,
      supplementalGroups: [4, 5, 6],
      noNewPrivs: true,
      seccomp: { profileType: ProfileType.Localhost, localhostRef: "/root/seccomp/p.json" },
    });
    assert.ok(maskedPaths?.includes("/proc/kcore") && readonlyPaths?.includes("/proc/sys"));
    assert.equal(sandboxSecurityContext(pod, []).privileged, true);
    assert.equal(fieldsOf(sandboxSecurityContext(pod, []).namespaceOptions)["pid"], NamespaceMode.NODE);
  });

  test("without one, the image decides the user, and nothing is confined", () => {
    const pod = podOf([{}]);
    const made = containerSecurityContext(
      pod,
      first(pod),
      { username: "app" },
      { seccompProfileRoot: "/", extraGroups: [] },
    );
    assert.deepEqual(
      [made.runAsUser, made.runAsUsername, made.noNewPrivs, made.privileged, made.seccomp],
      [undefined, "app", false, false, { profileType: ProfileType.Unconfined }],
    );
    assert.equal(fieldsOf(made.namespaceOptions)["pid"], NamespaceMode.CONTAINER);
    const open = podOf([{ securityContext: { procMount: "Unmasked" } }], { shareProcessNamespace: true });
    const unmasked = containerSecurityContext(open, first(open), root, { seccompProfileRoot: "/", extraGroups: [] });
    assert.deepEqual([unmasked.maskedPaths, fieldsOf(unmasked.namespaceOptions)["pid"]], [[], NamespaceMode.POD]);
  });
});
