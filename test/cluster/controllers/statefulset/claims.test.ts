import { describe, expect, test } from "vitest";
import { CLAIMS, type PersistentVolumeClaim } from "../../../../src/cluster/controllers/statefulset/claims.js";
import type { StatefulSet } from "../../../../src/cluster/controllers/statefulset/identity.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";
import { counts, play, running, STS, shown, statefulSet } from "./stage.js";

const TEMPLATE = {
  metadata: { name: "data", labels: { tier: "db" } },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const WITH_CLAIM = { volumeClaimTemplates: [TEMPLATE] };

async function claims(stage: WorkloadStage): Promise<string> {
  const all = await stage.admin.list<PersistentVolumeClaim>(CLAIMS, "default");
  return all.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`).join(", ");
}

async function volumesOf(stage: WorkloadStage, name: string) {
  const { spec } = await stage.get<PodObject>("pods", name);
  return spec?.volumes?.map((volume) => `${volume.name} ${volume.persistentVolumeClaim?.claimName}`);
}

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "are created before their pod, which mounts them",
    async (stage) => {
      await stage.create(STS, statefulSet(2, WITH_CLAIM));
      const claim = await stage.get<PersistentVolumeClaim>(CLAIMS, "data-web-0");
      return [
        await claims(stage),
        [claim.metadata.labels, claim.metadata.ownerReferences, claim.spec?.resources?.requests],
        await volumesOf(stage, "web-0"),
        // The controller of volumes speaks as well, once it has been loaded.
        stage.events().filter((event) => event.includes("SuccessfulCreate")),
      ];
    },
    [
      "data-web-0 Pending",
      [{ app: "web", tier: "db" }, undefined, { storage: "1Gi" }],
      ["data data-web-0"],
      [
        "Normal SuccessfulCreate create Claim data-web-0 Pod web-0 in StatefulSet web success",
        "Normal SuccessfulCreate create Pod web-0 in StatefulSet web successful",
      ],
    ],
  ],
  [
    "replace a volume of the template that has their name",
    async (stage) => {
      const { metadata, spec } = podTemplate();
      const volumes = [
        { name: "data", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ];
      await stage.create(STS, statefulSet(1, { ...WITH_CLAIM, template: { metadata, spec: { ...spec, volumes } } }));
      return volumesOf(stage, "web-0");
    },
    ["data data-web-0", "tmp undefined"],
  ],
  [
    "stay when the set is scaled down, and serve the next pod of that name",
    async (stage) => {
      await running(stage, 2, WITH_CLAIM);
      const { metadata } = await stage.get(CLAIMS, "data-web-1");
      await stage.changeSpec(STS, "web", { replicas: 1 });
      await play(stage);
      const left = await claims(stage);
      await stage.changeSpec(STS, "web", { replicas: 2 });
      return [
        left,
        await volumesOf(stage, "web-1"),
        (await stage.get(CLAIMS, "data-web-1")).metadata.uid === metadata.uid,
      ];
    },
    ["data-web-0 Pending, data-web-1 Pending", ["data data-web-1"], true],
  ],
  [
    "stay when the set is deleted",
    async (stage) => {
      await running(stage, 1, WITH_CLAIM);
      await stage.delete(STS, "web");
      await play(stage);
      return [await shown(stage), await claims(stage)];
    },
    ["", "data-web-0 Pending"],
  ],
  [
    "that are being deleted keep their pod from being created, until they are gone",
    async (stage) => {
      await running(stage, 1, WITH_CLAIM);
      const finalizers = ["example.com/backup"];
      await stage.change(CLAIMS, "data-web-0", (one) => ({ ...one, metadata: { ...one.metadata, finalizers } }));
      await stage.delete(CLAIMS, "data-web-0");
      await stage.delete("pods", "web-0");
      await stage.endTerminating();
      const blocked = [await shown(stage), stage.events().at(-1)];
      await stage.change(CLAIMS, "data-web-0", (one) => ({ ...one, metadata: { ...one.metadata, finalizers: [] } }));
      await stage.pass(60);
      return [...blocked, await shown(stage), await claims(stage)];
    },
    [
      "",
      "Warning FailedCreate create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted",
      "web-0 nginx",
      "data-web-0 Pending",
    ],
  ],
  [
    "that are refused are reported, all of them, and no pod is created",
    async (stage) => {
      const refusal = statusError(403, "Forbidden", "exceeded quota: few", {});
      stage.refuse.why = ({ resource }) => (resource === CLAIMS ? refusal : undefined);
      const other = { ...TEMPLATE, metadata: { name: "logs" } };
      await stage.create(STS, statefulSet(1, { volumeClaimTemplates: [TEMPLATE, other] }));
      return [stage.events().slice(0, 3), await shown(stage), await counts(stage)];
    },
    [
      [
        "Warning FailedCreate create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: exceeded quota: few",
        "Warning FailedCreate create Claim logs-web-0 for Pod web-0 in StatefulSet web failed error: exceeded quota: few",
        "Warning FailedCreate create Pod web-0 in StatefulSet web failed error: " +
          "[failed to create PVC data-web-0: exceeded quota: few, failed to create PVC logs-web-0: exceeded quota: few]",
      ],
      "",
      "0/0/0 current 0 updated 0",
    ],
  ],
  [
    "cannot be given to an adopted pod: volumes of a pod do not change",
    async (stage) => {
      const metadata = { name: "web-0", labels: { app: "web" } };
      await stage.create("pods", { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec });
      await stage.start();
      await stage.create(STS, statefulSet(1, { ...WITH_CLAIM, updateStrategy: { type: "OnDelete" } }));
      return [await claims(stage), stage.events().find((event) => event.includes("FailedUpdate"))];
    },
    [
      "data-web-0 Pending",
      expect.stringContaining(
        'update Pod web-0 in StatefulSet web failed error: Pod "web-0" is invalid: spec: Forbidden',
      ),
    ],
  ],
];

describe("claims of a StatefulSet", () => {
  for (const [title, story, want] of table) {
    test(title, async () => {
      await using stage = await WorkloadStage.open();
      expect(await story(stage)).toEqual(want);
    });
  }
});

const POLICY = "persistentVolumeClaimRetentionPolicy";
const retention = (whenDeleted: string, whenScaled: string) => ({
  ...WITH_CLAIM,
  [POLICY]: { whenDeleted, whenScaled },
});

async function policyOf(stage: WorkloadStage): Promise<unknown> {
  const { spec } = await stage.get<StatefulSet>(STS, "web");
  return spec?.[POLICY];
}

/** `StatefulSet web`: the owners of a claim */
async function ownersOf(stage: WorkloadStage, name: string): Promise<string | undefined> {
  const { metadata } = await stage.get<PersistentVolumeClaim>(CLAIMS, name);
  return metadata.ownerReferences?.map((one) => `${one.kind} ${one.name}`).join(", ");
}

async function scale(stage: WorkloadStage, replicas: number): Promise<void> {
  await stage.changeSpec(STS, "web", { replicas });
  await play(stage);
  await stage.pass(1);
}

const retained: readonly (readonly [title: string, kubeVersion: string, ...story: [Row[1], unknown]])[] = [
  [
    "the policy is dropped by a release that does not know it",
    "1.25",
    async (stage) => {
      await running(stage, 2, retention("Delete", "Delete"));
      await scale(stage, 1);
      return [await policyOf(stage), await claims(stage)];
    },
    [undefined, "data-web-0 Pending, data-web-1 Pending"],
  ],
  [
    "all are retained without a policy",
    "1.27",
    async (stage) => {
      await running(stage, 1, WITH_CLAIM);
      return [await policyOf(stage), await ownersOf(stage, "data-web-0")];
    },
    [{ whenDeleted: "Retain", whenScaled: "Retain" }, undefined],
  ],
  [
    "whenScaled: the claim of a pod that is scaled away goes with it",
    "1.27",
    async (stage) => {
      await running(stage, 2, retention("Retain", "Delete"));
      const before = await ownersOf(stage, "data-web-1");
      await stage.changeSpec(STS, "web", { replicas: 1 });
      const during = await ownersOf(stage, "data-web-1");
      await scale(stage, 1);
      return [before, during, await claims(stage), await ownersOf(stage, "data-web-0")];
    },
    [undefined, "Pod web-1", "data-web-0 Pending", undefined],
  ],
  [
    "whenScaled: a pod that comes back gets a new claim",
    "1.27",
    async (stage) => {
      await running(stage, 2, retention("Retain", "Delete"));
      const { metadata } = await stage.get(CLAIMS, "data-web-1");
      await scale(stage, 1);
      await scale(stage, 2);
      return (await stage.get(CLAIMS, "data-web-1")).metadata.uid !== metadata.uid;
    },
    true,
  ],
  [
    "whenScaled: a pod waits until the claim of its predecessor is gone",
    "1.27",
    async (stage) => {
      await running(stage, 2, retention("Retain", "Delete"));
      const finalizers = ["example.com/backup"];
      await stage.change(CLAIMS, "data-web-1", (one) => ({ ...one, metadata: { ...one.metadata, finalizers } }));
      await scale(stage, 1);
      await scale(stage, 2);
      const waiting = [await shown(stage), stage.decisions().at(-1)];
      await stage.change(CLAIMS, "data-web-1", (one) => ({ ...one, metadata: { ...one.metadata, finalizers: [] } }));
      await play(stage);
      return [...waiting, await shown(stage)];
    },
    [
      "web-0 nginx",
      "wait for pod default/web-1 until its old claims are gone: they go with the pod that was scaled away",
      "web-0 nginx, web-1 nginx",
    ],
  ],
  [
    "whenDeleted: all claims go with the set",
    "1.27",
    async (stage) => {
      await running(stage, 2, retention("Delete", "Retain"));
      const owner = await ownersOf(stage, "data-web-1");
      await scale(stage, 1);
      const scaled = await claims(stage);
      await stage.delete(STS, "web");
      await play(stage);
      await stage.pass(1);
      return [owner, scaled, await claims(stage)];
    },
    ["StatefulSet web", "data-web-0 Pending, data-web-1 Pending", ""],
  ],
  [
    "a new policy changes the owners of the claims that are there",
    "1.27",
    async (stage) => {
      await running(stage, 1, WITH_CLAIM);
      await stage.changeSpec(STS, "web", { [POLICY]: { whenDeleted: "Delete", whenScaled: "Delete" } });
      const owned = await ownersOf(stage, "data-web-0");
      await stage.changeSpec(STS, "web", { [POLICY]: { whenDeleted: "Retain", whenScaled: "Delete" } });
      return [owned, await ownersOf(stage, "data-web-0"), stage.errors()];
    },
    ["StatefulSet web", undefined, []],
  ],
  [
    "a policy that there is not is refused",
    "1.27",
    (stage) => stage.create(STS, statefulSet(1, retention("Keep", "Retain"))).catch(({ message }: Error) => message),
    'StatefulSet.apps "web" is invalid: spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": ' +
      'supported values: "Retain", "Delete"',
  ],
];

test.each(retained)("claims of a StatefulSet: %s", async (_title, kubeVersion, story, want) => {
  await using stage = await WorkloadStage.open({ kubeVersion });
  expect(await story(stage)).toEqual(want);
});
