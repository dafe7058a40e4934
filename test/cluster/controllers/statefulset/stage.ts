import type { StatefulSet } from "../../../../src/cluster/controllers/statefulset/identity.js";
import type { ControllerRevision } from "../../../../src/cluster/controllers/support/history/controller-revision.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { podTemplate, type WorkloadStage } from "../support/workload-stage.js";

export const STS = "statefulsets.apps";
export const REVISIONS = "controllerrevisions.apps";

export function statefulSet(replicas: number, spec: object = {}, annotations: object = {}): object {
  const selector = { matchLabels: { app: "web" } };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", annotations },
    spec: { replicas, selector, serviceName: "svc", template: podTemplate(), ...spec },
  };
}

/** Creates a set and starts its pods, in their order. */
export async function running(stage: WorkloadStage, replicas: number, spec: object = {}): Promise<KubeObject> {
  const created = await stage.create(STS, statefulSet(replicas, spec));
  for (let i = 0; i < replicas; i++) await stage.start();
  return created;
}

export async function setImage(stage: WorkloadStage, image: string): Promise<void> {
  await stage.change(STS, "web", (object) => {
    const { spec } = object as StatefulSet;
    const [container] = spec?.template.spec?.containers ?? [];
    const podSpec = { ...spec?.template.spec, containers: [{ ...container, image }] };
    return { ...object, spec: { ...spec, template: { ...spec?.template, spec: podSpec } } } as KubeObject;
  });
}

/** Plays scheduler and kubelet until nothing changes any more. */
export async function play(stage: WorkloadStage): Promise<void> {
  for (let before = ""; before !== (await shown(stage)); ) {
    before = await shown(stage);
    await stage.endTerminating();
    await stage.start();
  }
}

/** `web-0 nginx, web-1 nginx:2 -`: a minus for pods that are being deleted. */
export async function shown(stage: WorkloadStage): Promise<string> {
  const one = ({ metadata, spec }: Awaited<ReturnType<WorkloadStage["pods"]>>[number]) => {
    const minus = metadata.deletionTimestamp === undefined ? "" : " -";
    return `${metadata.name} ${spec?.containers[0]?.image}${minus}`;
  };
  return (await stage.pods()).map(one).join(", ");
}

/** `3/2/2 current 1 updated 2`: replicas, ready and available ones; how many have which revision. */
export async function counts(stage: WorkloadStage): Promise<string> {
  const { status } = await stage.get<StatefulSet>(STS, "web");
  const { replicas, readyReplicas = 0, availableReplicas, currentReplicas = 0, updatedReplicas = 0 } = status ?? {};
  return `${replicas}/${readyReplicas}/${availableReplicas} current ${currentReplicas} updated ${updatedReplicas}`;
}

/** `1:nginx 2:nginx:2`, by number */
export async function revisions(stage: WorkloadStage): Promise<string> {
  const all = await stage.admin.list<ControllerRevision>(REVISIONS, "default");
  return [...all]
    .sort((a, b) => a.revision - b.revision)
    .map(({ revision, data }) => `${revision}:${/"image":"([^"]*)"/.exec(JSON.stringify(data))?.[1]}`)
    .join(" ");
}

/** The last decision, or several, without revisions' hashes. */
export function decided(stage: WorkloadStage, count = 1): string | readonly string[] {
  const last = stage
    .decisions()
    .slice(-count)
    .map((text) => text.replace(/web-[a-z0-9]{6,}/g, "web-HASH"));
  return count === 1 ? (last[0] ?? "") : last;
}
