import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kubelet } from "../../../kubelet/app/kubelet.js";
import type { Changes } from "../../../kubelet/config/pod-config.js";
import type { MirrorPodParts } from "../../../kubelet/pod/mirror-client.js";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { objectPath, PODS } from "../../../staging/client-go/rest/paths.js";
import type { RunParts, Stage } from "../../chaos/stage.js";
import { becomes, call, type Methods, make, replace, type Written } from "./part.js";

const STATIC_POD = `apiVersion: v1
kind: Pod
metadata: { name: static }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: busybox, command: [sleep, "3600"] }]
`;
const MIRROR_POD = "static-node-1";
const AFTER_MS = 15_000;

/** Pods of a file and of the API server. Afterwards a pod is deleted. */
export function podConfig(written: Written): RunParts {
  return {
    hooks: {
      made: (kubelet) => {
        writeStaticPod(kubelet);
        if (written !== undefined) mergeWith(written, kubelet);
      },
    },
    after: async (stage, signal) => {
      await deletePod(stage, "web", signal);
      return [await becomes(stage, "pod/web=Deleted", AFTER_MS, signal)];
    },
  };
}

/** kubelab's own keeps the pods; the learner's decides what has changed. */
function mergeWith(written: Methods, { podConfig: own }: Kubelet): void {
  const yours = make(written, "PodConfig");
  const changes = own.changes.bind(own);
  const known = new Map<string, V1Pod>();
  replace(own, {
    changes: (source, update) => {
      const kept = changes(source, update);
      // The watches send all their pods, as upstream's do.
      if (update.op !== "SET") return kept;
      for (const pod of [...update.pods, ...Object.values(kept).flat()]) known.set(pod.metadata.uid, pod);
      const decided: Partial<Record<keyof Changes, readonly string[]>> = call(yours, "set", source, update.pods);
      const podsOf = (op: keyof Changes) => (decided[op] ?? []).flatMap((uid) => known.get(uid) ?? []);
      return Object.fromEntries((Object.keys(kept) as (keyof Changes)[]).map((op) => [op, podsOf(op)])) as Changes;
    },
  });
}

/** The mirror pod of a static pod. Afterwards somebody deletes it. */
export function mirrorPod(written: Written): RunParts {
  return {
    hooks: {
      made: writeStaticPod,
      ...(written === undefined ? {} : { mirrorPods: written as unknown as MirrorPodParts }),
    },
    after: async (stage, signal) => {
      const deleted = await deletePod(stage, MIRROR_POD, signal);
      const isOther = async () => (await uidOf(stage, MIRROR_POD, signal)) !== deleted;
      return [await becomes(stage, `pod/${MIRROR_POD}=Running`, AFTER_MS, signal, isOther)];
    },
  };
}

function writeStaticPod({ config }: Kubelet): void {
  writeFileSync(join(config.staticPodPath ?? "", "static.yaml"), STATIC_POD);
}

/** @returns its uid; undefined if there is no such pod: what comes next shows it */
async function deletePod(stage: Stage, name: string, signal: AbortSignal): Promise<string | undefined> {
  const uid = await uidOf(stage, name, signal);
  await stage.client.request({ method: "DELETE", path: pathOf(name), body: { gracePeriodSeconds: 1 }, signal });
  return uid;
}

async function uidOf({ client }: Stage, name: string, signal: AbortSignal): Promise<string | undefined> {
  const { status, body } = await client.request<KubeObject>({ method: "GET", path: pathOf(name), signal });
  return status === 200 ? body.metadata.uid : undefined;
}

const pathOf = (name: string) => objectPath({ ...PODS, namespace: "default" }, name);
