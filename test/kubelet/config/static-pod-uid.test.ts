import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { decodeSinglePod } from "../../../src/kubelet/config/decode.js";
import { setPodDefaults } from "../../../src/kubelet/config/defaults.js";
import { goFields } from "../../../src/kubelet/config/internal-pod/go-type.js";
import { POD_TYPES } from "../../../src/kubelet/config/internal-pod/pod-types.js";
import { dumpPod } from "../../../src/kubelet/config/static-pod-uid.js";
import { NEWEST_RELEASE } from "../../../src/release/facts.js";
import { makePod } from "../podworkers/pods.js";

interface Made {
  readonly name: string;
  readonly manifest: string;
  readonly uid: string;
  readonly source?: string;
  readonly isFile?: boolean;
  readonly nodeName?: string;
}

interface Seen {
  readonly release: string;
  readonly nodeName: string;
  readonly source: string;
  readonly uid: string;
  readonly manifest: string;
}

/**
 * `made`: manifests of ours, and the UIDs that tryDecodeSinglePod and applyDefaults of Kubernetes 1.20.2, called from a
 * small Go program, gave them.
 *
 * `seen`: UIDs that real kubelets gave, as people published them (config.hash of a mirror pod), of control planes by
 * kubeadm. The manifest follows from the mirror pod; the number of its priority is in manifests from 1.27 on.
 */
const { made, seen } = JSON.parse(readFileSync(new URL("static-pod-uids.json", import.meta.url), "utf8")) as {
  readonly made: readonly Made[];
  readonly seen: readonly Seen[];
};

const ORIGIN = { source: "/etc/kubernetes/manifests/web.yaml", isFile: true, nodeName: "n1", kubeVersion: "1.25" };

describe("the UID that the code of 1.20.2 gives", () => {
  for (const { name, manifest, uid, ...origin } of made) {
    test(name, async () => {
      const { metadata } = await decodeSinglePod(manifest, { ...ORIGIN, ...origin, kubeVersion: "1.20" });
      assert.equal(metadata.uid, uid);
    });
  }
});

describe("the UID that a real kubelet gave", () => {
  for (const { release, nodeName, source, uid, manifest } of seen) {
    test(`${source} on a node of ${release}`, async () => {
      const origin = { source, isFile: true, nodeName, kubeVersion: release };
      assert.equal((await decodeSinglePod(manifest, origin)).metadata.uid, uid);
    });
  }
});

// By eye: the order is that of upstream's types.go at several releases from 1.20 to after 1.34, the release the one whose
// API (k8s.io/api/core/v1) has the field first. The UIDs above stand for the sum of it in all releases but 1.26 and 1.33.
describe("the fields of a release", () => {
  const table: [struct: string, after: string, field: string, since: string][] = [
    ["PodSpec", "TopologySpreadConstraints", "OS", "1.23"],
    ["PodSpec", "OS", "SchedulingGates", "1.26"],
    ["PodSpec", "SchedulingGates", "ResourceClaims", "1.26"],
    ["PodSpec", "ResourceClaims", "Resources", "1.32"],
    ["PodSpec", "Resources", "HostnameOverride", "1.34"],
    ["PodSecurityContext", "ShareProcessNamespace", "HostUsers", "1.25"],
    ["PodSecurityContext", "SeccompProfile", "AppArmorProfile", "1.30"],
    ["PodSecurityContext", "SupplementalGroups", "SupplementalGroupsPolicy", "1.31"],
    ["PodSecurityContext", "AppArmorProfile", "SELinuxChangePolicy", "1.32"],
    ["PodStatus", "EphemeralContainerStatuses", "Resize", "1.27"],
    ["PodStatus", "HostIP", "HostIPs", "1.28"],
    ["PodStatus", "Resize", "ResourceClaimStatuses", "1.28"],
    ["PodStatus", "", "ObservedGeneration", "1.33"],
    ["PodStatus", "ResourceClaimStatuses", "ExtendedResourceClaimStatus", "1.34"],
    ["Container", "Resources", "ResizePolicy", "1.27"],
    ["Container", "ResizePolicy", "RestartPolicy", "1.28"],
    ["Container", "RestartPolicy", "RestartPolicyRules", "1.34"],
    ["ResourceRequirements", "Requests", "Claims", "1.26"],
    ["VolumeMount", "ReadOnly", "RecursiveReadOnly", "1.30"],
    ["SecurityContext", "SeccompProfile", "AppArmorProfile", "1.30"],
    ["WindowsSecurityContextOptions", "RunAsUserName", "HostProcess", "1.22"],
    ["Probe", "FailureThreshold", "TerminationGracePeriodSeconds", "1.21"],
    ["LifecycleHandler", "TCPSocket", "Sleep", "1.29"],
    ["Lifecycle", "PreStop", "StopSignal", "1.33"],
    ["EnvVarSource", "SecretKeyRef", "FileKeyRef", "1.34"],
    ["VolumeSource", "Ephemeral", "Image", "1.31"],
    ["VolumeProjection", "ServiceAccountToken", "ClusterTrustBundle", "1.29"],
    ["VolumeProjection", "ClusterTrustBundle", "PodCertificate", "1.34"],
    ["PodAffinityTerm", "TopologyKey", "NamespaceSelector", "1.21"],
    ["PodAffinityTerm", "NamespaceSelector", "MatchLabelKeys", "1.29"],
    ["PodAffinityTerm", "MatchLabelKeys", "MismatchLabelKeys", "1.29"],
    ["TopologySpreadConstraint", "LabelSelector", "MinDomains", "1.24"],
    ["TopologySpreadConstraint", "MinDomains", "NodeAffinityPolicy", "1.25"],
    ["TopologySpreadConstraint", "NodeAffinityPolicy", "NodeTaintsPolicy", "1.25"],
    ["TopologySpreadConstraint", "NodeTaintsPolicy", "MatchLabelKeys", "1.25"],
  ];
  for (const [struct, after, field, since] of table) {
    test(`${struct}: ${field} after ${after === "" ? "nothing" : after}, since ${since}`, () => {
      const now = namesOf(struct, since);
      const index = now.indexOf(field);
      assert.equal(index < 0 ? undefined : (now[index - 1] ?? ""), after);
      const [major, minor] = since.split(".");
      assert.ok(!namesOf(struct, `${major}.${Number(minor) - 1}`).includes(field));
      assert.ok(namesOf(struct, NEWEST_RELEASE).includes(field));
    });
  }

  test("no field has come that is not in this table", () => {
    const news = Object.keys(POD_TYPES).flatMap((struct) => {
      const old = new Set(namesOf(struct, "1.20"));
      return namesOf(struct, NEWEST_RELEASE).flatMap((name) => (old.has(name) ? [] : [`${struct}.${name}`]));
    });
    const told = table.map(([struct, , field]) => `${struct}.${field}`);
    assert.deepEqual(news.sort(), [...told, "Probe.ProbeHandler"].sort());
  });

  test("what a name alone stands for", () => {
    const nameless = Object.keys(POD_TYPES).flatMap((struct) =>
      (goFields(POD_TYPES, struct, NEWEST_RELEASE) ?? []).flatMap(({ type }) => {
        const inner = type.kind === "pointer" || type.kind === "slice" ? type.of : type;
        return inner.kind === "struct" && goFields(POD_TYPES, inner.name, NEWEST_RELEASE) === undefined
          ? [inner.name.replace("core.", "")]
          : [];
      }),
    );
    assert.equal(
      [...new Set(nameless)].sort().join(" "),
      "AWSElasticBlockStoreVolumeSource AzureDiskVolumeSource AzureFileVolumeSource CephFSVolumeSource " +
        "CinderVolumeSource ClusterTrustBundleProjection ContainerRestartRule ContainerStatus EphemeralContainer " +
        "EphemeralVolumeSource FCVolumeSource FileKeySelector FlexVolumeSource FlockerVolumeSource " +
        "GCEPersistentDiskVolumeSource GitRepoVolumeSource GlusterfsVolumeSource HostIP ISCSIVolumeSource " +
        "ImageVolumeSource PhotonPersistentDiskVolumeSource PodCertificateProjection PodCondition " +
        "PodExtendedResourceClaimStatus PodIP PodResourceClaim PodResourceClaimStatus PortworxVolumeSource " +
        "QuobyteVolumeSource RBDVolumeSource ResourceClaim ScaleIOVolumeSource StorageOSVolumeSource " +
        "VsphereVirtualDiskVolumeSource v1.ManagedFieldsEntry v1.OwnerReference",
    );
  });
});

describe("what no table describes: digits of our own, and still of the content", () => {
  const table: [string, string, string][] = [
    ["a time", "  creationTimestamp: 2024-01-01T00:00:00Z\n", ""],
    ["an owner", "  ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]\n", ""],
    ["a disk that no kubelet mounts by itself", "", "  volumes: [{name: v, gcePersistentDisk: {pdName: d}}]\n"],
    ["a status", "", "status: {phase: Running}\n"],
    ["a number that no field can hold", "", "  priority: 100000000000000000000\n"],
  ];
  for (const [what, metadata, rest] of table) {
    test(what, async () => {
      const text = (image: string) =>
        `apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n${metadata}spec:\n  containers:\n  - {name: c, image: ${image}}\n${rest}`;
      const uid = async (image: string, origin = {}) =>
        (await decodeSinglePod(text(image), { ...ORIGIN, ...origin })).metadata.uid;
      assert.match(await uid("a"), /^[0-9a-f]{32}$/);
      assert.equal(await uid("a"), await uid("a"));
      assert.notEqual(await uid("a"), await uid("b"));
      assert.notEqual(await uid("a"), await uid("a", { nodeName: "n2" }));
      // Were it printed with the field left out, another release would have other digits.
      assert.equal(await uid("a"), await uid("a", { kubeVersion: "1.34" }));
    });
  }
});

test("resources of the pod as a whole are printed until a release fills them in", () => {
  const pod = { ...setPodDefaults(makePod("web")), status: {} };
  const withResources = { ...pod, spec: { ...pod.spec, resources: { limits: { cpu: "1" } } } };
  assert.match(dumpPod(withResources, "1.33") ?? "", / Resources:\(\*core\.ResourceRequirements\)\{Limits:/);
  assert.equal(dumpPod(withResources, "1.34"), undefined);
});

test("a field that came later is no part of an older release's picture", () => {
  const pod = { ...setPodDefaults(makePod("web")), status: {} };
  const withOs = { ...pod, spec: { ...pod.spec, os: { name: "linux" } } };
  assert.equal(dumpPod(withOs, "1.22"), dumpPod(pod, "1.22"));
  assert.match(dumpPod(withOs, "1.25") ?? "", / OS:\(\*core\.PodOS\)\{Name:\(core\.OSName\)linux\}/);
});

function namesOf(struct: string, release: string): string[] {
  return (goFields(POD_TYPES, struct, release) ?? []).map(({ name }) => name);
}
