import { existsSync } from "node:fs";
import { listPods, shortUid } from "../../testbed/fixtures/pod-list.js";
import type { Fact } from "../../trace/events.js";
import type { Level } from "../../trace/trace.js";
import type { CommandResult } from "../cli/context.js";
import type { InspectorKey } from "../inspector/key-table.js";
import { podKeys } from "../inspector/pod-keys.js";
import type { OpenInspector } from "../inspector/run.js";
import { reportStatus, type StatusTable } from "../inspector/status-table.js";
import { fileOf } from "../inspector/trace.js";

/** The kubelet's packages that handle a manifest. */
const STORY = [
  "pkg/kubelet/config/",
  "pkg/kubelet/pod/",
  "pkg/kubelet/pod_workers.go",
  "pkg/kubelet/status/status_manager.go",
];

/** Selects facts about manifests, static pods, mirror pods and status, and events of pods. */
export function showsStaticPods(fact: Fact, level: Level): Level | undefined {
  if (fact.kind === "event") return fact.object.startsWith("Pod/") ? level : undefined;
  const file = fileOf(fact);
  if (STORY.some((start) => file.startsWith(start))) return level;
  return decidesAboutMirror(fact) ? level : undefined;
}

/** Whether syncPod decided about a mirror pod. */
export function decidesAboutMirror(fact: Fact): boolean {
  return fact.kind === "decision" && fact.upstream?.func === "syncPod";
}

/** The keys. Manifests change only in the inspector's own folder. */
export function staticPodKeys(inspector: OpenInspector): readonly InspectorKey[] {
  const { fixture } = inspector;
  const common = podKeys(inspector);
  const onMirror: readonly InspectorKey[] = [
    common.deleteMirror,
    common.table("show static pods and mirror pods side by side", () =>
      reportStatus(inspector.trace, "user", staticPodStatus(inspector)),
    ),
  ];
  if (!fixture.isOwnFolder) return onMirror;
  return [
    { key: "n", short: "new", label: "write another manifest", run: () => fixture.writeManifest() },
    {
      key: "s",
      short: "same name",
      label: "write another with a pod of the first one's name",
      run: () => fixture.writeManifest("web"),
    },
    { key: "c", short: "change", label: "change the newest manifest", run: () => fixture.changeManifest() },
    { key: "b", short: "break", label: "break the newest manifest: half written", run: () => fixture.breakManifest() },
    { key: "r", short: "remove", label: "remove the newest manifest", run: () => fixture.removeManifest() },
    ...onMirror,
  ];
}

function rowsOf({ parts }: OpenInspector) {
  return listPods(parts).filter(({ kind }) => kind === "static");
}

/** Static pods and mirror pods side by side. */
export function staticPodStatus(inspector: OpenInspector): StatusTable {
  const rows = rowsOf(inspector).map(({ pod, uid, mirrorUid, isMirrorUpToDate, phase }) => [
    pod,
    shortUid(uid),
    mirrorUid === null ? "none" : `${shortUid(mirrorUid)}${isMirrorUpToDate === true ? "" : " (old)"}`,
    phase,
  ]);
  const columns = ["static pod", "uid", "mirror pod", "phase"];
  return { title: "Static pods", columns, rows };
}

/** The static pods at the end. */
export function staticPodResult(inspector: OpenInspector): CommandResult {
  const pods = rowsOf(inspector);
  const lines = pods.map(({ pod, uid, mirrorUid, phase }) => {
    return `${pod} ${phase}, uid ${shortUid(uid)}, mirror pod ${mirrorUid === null ? "none" : shortUid(mirrorUid)}`;
  });
  const { folder } = inspector.fixture;
  const none = existsSync(folder) ? "no static pod is left" : `no static pod: ${folder} does not exist`;
  const text = pods.length === 0 ? none : lines.join("\n");
  return {
    text,
    json: { node: inspector.nodeName, manifestDir: folder, staticPods: pods },
    isProse: true,
  };
}
