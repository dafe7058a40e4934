import { listPods, shortUid } from "../../testbed/fixtures/pod-list.js";
import type { Fact } from "../../trace/events.js";
import type { Level } from "../../trace/trace.js";
import type { LiveWindow } from "../../trace/ui/live-server.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { CommandResult } from "../cli/context.js";
import type { InspectorKey } from "../inspector/key-table.js";
import { type HttpAddress, servePage } from "../inspector/page-server.js";
import { podKeys } from "../inspector/pod-keys.js";
import type { OpenInspector } from "../inspector/run.js";
import { reportStatus, type StatusTable } from "../inspector/status-table.js";
import { fileOf } from "../inspector/trace.js";
import { decidesAboutMirror } from "../static-pod/inspector.js";

/** Selects facts about pod sources and mirror pods. */
export function showsPodManager(fact: Fact, level: Level): Level | undefined {
  const file = fileOf(fact);
  if (file.startsWith("pkg/kubelet/config/") || file.startsWith("pkg/kubelet/pod/")) return level;
  return decidesAboutMirror(fact) ? level : undefined;
}

/**
 * Serves the window's live page and the lists until `signal` aborts.
 *
 *   GET /pods               the node's pods, as a PodList
 *   GET /mirror-pods        their mirror pods, as a PodList
 *   GET /uid-translations   static pod to mirror pod, and back
 */
export async function servePods(
  inspector: OpenInspector,
  window: LiveWindow,
  http: HttpAddress | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { trace } = inspector;
  const lists: Readonly<Record<string, () => unknown>> = {
    "/pods": () => podList(inspector, "pods"),
    "/mirror-pods": () => podList(inspector, "mirrorPods"),
    "/uid-translations": () => translations(inspector),
  };
  const endpoints = {
    state: () => podManagerState(inspector),
    get: ({ pathname }: URL) => {
      const list = Object.hasOwn(lists, pathname) ? lists[pathname] : undefined;
      return list === undefined ? undefined : { status: 200, body: list() };
    },
  };
  await using page = await servePage(trace, window, endpoints, http ?? { host: "127.0.0.1", port: 0 });
  trace.emit({ kind: "note", text: `Page: ${page.url} and ${page.url}pods` }, { actor: "user" });
  await untilAborted(signal);
}

function podList({ parts }: OpenInspector, which: "pods" | "mirrorPods") {
  const { podManager, statusManager } = parts;
  const items = podManager.getPodsAndMirrorPods()[which].map((pod) => {
    const status = which === "pods" ? statusManager.getPodStatus(pod.metadata.uid) : undefined;
    return status === undefined ? pod : { ...pod, status };
  });
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

function translations({ parts }: OpenInspector) {
  const { podToMirror, mirrorToPod } = parts.podManager.getUidTranslations();
  const toMirror = Array.from(podToMirror, ([uid, mirrorUid]) => [uid, mirrorUid ?? null] as const);
  return { podToMirror: Object.fromEntries(toMirror), mirrorToPod: Object.fromEntries(mirrorToPod) };
}

/** The page shows this many pods. */
const MAX_PODS = 200;

/** The displayed state. */
function podManagerState(inspector: OpenInspector) {
  const pods = listPods(inspector.parts);
  return {
    node: inspector.nodeName,
    pods: pods.slice(0, MAX_PODS),
    omittedPods: Math.max(0, pods.length - MAX_PODS),
    mirrorPods: inspector.parts.podManager.getPodsAndMirrorPods().mirrorPods.length,
    translations: translations(inspector).podToMirror,
  };
}

const FOLLOW_PERIOD_MS = 250;

/** Reports new and removed translations, because the pod manager does not. */
export async function followTranslations({ parts, trace, clock }: OpenInspector, signal: AbortSignal): Promise<void> {
  const upstream = { file: "pkg/kubelet/pod/pod_manager.go", func: "updatePodsInternal" };
  let before = new Map<string, string>();
  while (!signal.aborted) {
    const after = new Map(parts.podManager.getUidTranslations().mirrorToPod);
    for (const [mirrorUid, uid] of after) {
      if (before.get(mirrorUid) === uid) continue;
      const fact = { subject: `mirror pod ${mirrorUid}`, what: "translates to", to: `static pod ${uid}` };
      trace.emit({ kind: "state", ...fact, upstream }, { actor: "kubelet" });
    }
    for (const [mirrorUid, uid] of before) {
      if (after.has(mirrorUid)) continue;
      const fact = {
        subject: `mirror pod ${mirrorUid}`,
        what: "translates to",
        from: `static pod ${uid}`,
        to: "nothing",
      };
      trace.emit({ kind: "state", ...fact, upstream }, { actor: "kubelet" });
    }
    before = after;
    await clock.sleep(FOLLOW_PERIOD_MS, signal);
  }
}

/** The keys. Manifests change only in the inspector's own folder. */
export function podManagerKeys(inspector: OpenInspector): readonly InspectorKey[] {
  const { fixture } = inspector;
  const common = podKeys(inspector);
  const own: readonly InspectorKey[] = fixture.isOwnFolder
    ? [
        { key: "n", short: "new file", label: "write a manifest: a static pod", run: () => fixture.writeManifest() },
        { key: "r", short: "remove file", label: "remove the newest manifest", run: () => fixture.removeManifest() },
      ]
    : [];
  return [
    common.create,
    common.delete("delete the newest pod through the API"),
    ...own,
    common.deleteMirror,
    common.table("show all pods", () => reportStatus(inspector.trace, "user", podManagerStatus(inspector))),
  ];
}

/** All pods, static pods with their mirror pods. */
export function podManagerStatus({ parts }: OpenInspector): StatusTable {
  const rows = listPods(parts).map(({ pod, kind, uid, mirrorUid, phase }) => [
    pod,
    kind,
    shortUid(uid),
    kind === "static" ? shortUid(mirrorUid) : "",
    phase,
  ]);
  const columns = ["pod", "kind", "uid", "mirror", "phase"];
  return { title: "Pods", columns, rows };
}

/** The pods at the end. */
export function podManagerResult(inspector: OpenInspector): CommandResult {
  const pods = listPods(inspector.parts);
  const text = pods.map(({ pod, kind, phase }) => `${pod} ${kind} ${phase}`).join("\n");
  const json = { node: inspector.nodeName, pods, translations: translations(inspector) };
  return { text: text === "" ? "no pods" : text, json, isProse: true };
}
