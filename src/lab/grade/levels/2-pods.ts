import { findCondition, type V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { counted } from "../../../util/text/counted.js";
import type { Exam, Examine } from "../exam.js";
import {
  createPod,
  isPhase,
  isReady,
  mainStatus,
  POD_MS,
  podPath,
  podText,
  readPod,
  startsOf,
  untilNodeReady,
  untilPod,
} from "../pods.js";
import type { SeenRequest } from "../request-log.js";

/** The grace period of the deletion: long enough to see an early end also if a fast clock runs on a busy machine. */
const GRACE_SECONDS = 10;
/** SIGTERM and SIGKILL may each be late by the way through the runtime; a clock that runs faster makes that longer. */
const EARLY_MS = 1_500;
const GONE_MS = 30_000;
const QUIET_MS = 20_000;
/** Within `QUIET_MS`: what is left of the changes before. */
const MAX_STATUS_WRITES = 2;
const OWN_PODS = ["web", "once", "fails"];
const STUBBORN = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"];

/** Level 2: the pods of its node, from Pending to their deletion. */
export const examinePods: Examine = async (exam) => {
  await untilNodeReady(exam);
  await createPod(exam, "not-yours", {}, { nodeName: "another-node" });
  await createPod(exam, "web", { command: STUBBORN });
  await createPod(exam, "once", { command: ["sh", "-c", "exit 0"] }, { restartPolicy: "Never" });
  await createPod(exam, "fails", { command: ["sh", "-c", "exit 3"] }, { restartPolicy: "Never" });
  await examineRunning(exam);
  await examineEnded(exam, "pod-succeeded", "once", "Succeeded", 0);
  await examineEnded(exam, "pod-failed", "fails", "Failed", 3);
  await examineQuiet(exam);
  await examineDeletion(exam);
  await examineWatch(exam, "watch-resumed", "after-end", "end");
  await examineWatch(exam, "watch-expired", "after-410", "expire");
  examineOthers(exam);
};

async function examineRunning(exam: Exam): Promise<void> {
  const pod = await untilPod(exam, "web", isPhase("Running"));
  const starts = startsOf(exam, "web");
  const usesRuntime = exam.uses("cri");
  if (pod === undefined || (usesRuntime && starts.length === 0)) {
    const what = pod === undefined ? podText(await readPod(exam, "web")) : "no container was started in the runtime";
    const why = `pod web after ${POD_MS / 1000} s: ${what}`;
    exam.judge("pod-running", false, why, exam.changeLines(exam.changesOf("default/web")));
    exam.judge("pod-status", false, why);
    return;
  }
  exam.judge("pod-running", true, `pod web is Running after ${exam.seconds(exam.now)} s`);
  const ready = (await untilPod(exam, "web", isReady)) ?? (await readPod(exam, "web"));
  exam.judge("pod-status", ...statusFinding(ready, usesRuntime ? starts.at(-1)?.id : undefined));
}

/** @param containerId the runtime's; undefined: the agent does not use it */
function statusFinding(pod: V1Pod | undefined, containerId: string | undefined): readonly [ok: boolean, why: string] {
  const { podIP, hostIP, startTime, conditions } = pod?.status ?? {};
  const main = mainStatus(pod);
  const isTrue = (type: string) => findCondition(conditions, type)?.status === "True";
  const given = main?.containerID ?? "";
  const parts: readonly (readonly [name: string, ok: boolean])[] = [
    ["podIP", !!podIP],
    ["hostIP", !!hostIP],
    ["startTime", !!startTime],
    ...["Initialized", "ContainersReady", "Ready", "PodScheduled"].map(
      (type) => [`${type}: True`, isTrue(type)] as const,
    ),
    ["containerID: RUNTIME://ID", /^[a-z][\w.-]*:\/\/.+/.test(given)],
    ["the ID that the runtime gave", containerId === undefined || given.endsWith(`://${containerId}`)],
    ["imageID", !!main?.imageID],
    ["state.running.startedAt", !!main?.state?.running?.startedAt],
    ["ready: true", main?.ready === true],
    ["restartCount: 0", main?.restartCount === 0],
  ];
  const lacking = parts.flatMap(([name, ok]) => (ok ? [] : [name]));
  if (lacking.length > 0) return [false, `missing or wrong: ${lacking.join(", ")}`];
  return [true, "every field is there"];
}

async function examineEnded(exam: Exam, id: string, name: string, phase: string, exitCode: number): Promise<void> {
  const pod = (await untilPod(exam, name, isPhase(phase))) ?? (await readPod(exam, name));
  const terminated = mainStatus(pod)?.state?.terminated;
  const isRight = pod?.status?.phase === phase && terminated?.exitCode === exitCode && !!terminated.finishedAt;
  const starts = startsOf(exam, name);
  const seen = `pod ${name}: ${podText(pod)}`;
  if (isRight && starts.length > 1) {
    const why = `${seen}; it was started ${starts.length} times though its restartPolicy is Never`;
    exam.judge(id, false, why, exam.changeLines(starts));
  } else exam.judge(id, isRight, seen);
}

/** A while in which nothing happens to the pods. */
async function examineQuiet(exam: Exam): Promise<void> {
  const id = "pod-status-quiet";
  const fromMs = exam.now;
  await exam.pass(QUIET_MS);
  const all = statusWrites(exam);
  if (all.length === 0) return exam.judge(id, "skipped", "not examined: the agent wrote no pod's status");
  const late = all.filter(({ atMs }) => atMs >= fromMs);
  const of = (name: string) => late.filter((one) => one.name === name);
  const most = OWN_PODS.map(of).sort((one, other) => other.length - one.length)[0] ?? [];
  const why = `${counted(most.length, "write")} of the status of pod ${most[0]?.name ?? "web"} in ${QUIET_MS / 1000} s in which nothing changed`;
  const isQuiet = most.length <= MAX_STATUS_WRITES;
  exam.judge(id, isQuiet, why, isQuiet ? [] : exam.linesOf(most));
}

function statusWrites(exam: Exam): readonly SeenRequest[] {
  const written = exam.requests({ resource: "pods/status", verb: "update patch" });
  return written.filter(({ name }) => OWN_PODS.includes(name));
}

async function examineDeletion(exam: Exam): Promise<void> {
  const id = "deletion-grace";
  if (exam.hasFailed("pod-running")) return exam.judge(id, false, "pod web never ran");
  const before = await readPod(exam, "web");
  if (before === undefined || !isPhase("Running")(before)) {
    return exam.judge(id, false, `pod web ended before its deletion: ${podText(before)}`);
  }
  const fromMs = exam.now;
  await exam.remove(podPath("web"), { gracePeriodSeconds: GRACE_SECONDS });
  const isGone = await exam.until(GONE_MS, async () => ((await readPod(exam, "web")) === undefined ? true : undefined));
  const ending = () =>
    exam.changesOf("default/web", "main").find(({ from, atMs }) => from === "running" && atMs >= fromMs);
  const exited = exam.uses("cri") ? await exam.until(GONE_MS, ending) : undefined;
  const removals = exam.requests({ resource: "pods", verb: "delete", name: "web", fromMs });
  const lines = [...exam.changeLines(exam.changesOf("default/web", "main")), ...exam.linesOf(removals)];
  const endedAfter = exited === undefined ? "" : ((exited.atMs - fromMs) / 1000).toFixed(1);
  const removal = removals.find(({ status }) => status === 200);
  if (exam.uses("cri") && exited === undefined) {
    exam.judge(id, false, `the container of pod web still runs ${GONE_MS / 1000} s after the deletion`, lines);
  } else if (exited !== undefined && exited.atMs - fromMs < GRACE_SECONDS * 1000 - EARLY_MS) {
    const why = `the container of pod web was killed ${endedAfter} s after the deletion; its grace period is ${GRACE_SECONDS} s`;
    exam.judge(id, false, why, lines);
  } else if (isGone === undefined) {
    exam.judge(id, false, `the object of pod web is still there ${GONE_MS / 1000} s after the deletion`, lines);
  } else if (removal === undefined || (exited !== undefined && removal.atMs < exited.atMs - EARLY_MS)) {
    exam.judge(id, false, "the object of pod web went before its container had ended", lines);
  } else {
    const why = `the container ended ${endedAfter} s after the deletion, with a grace period of ${GRACE_SECONDS} s, then the object went`;
    exam.judge(id, true, exited === undefined ? "the agent removed the object of pod web" : why);
  }
}

async function examineWatch(exam: Exam, id: string, name: string, how: "end" | "expire"): Promise<void> {
  const { watches } = exam.place.faults;
  const match = { user: exam.user, resource: "pods" };
  const fromMs = exam.now;
  if (exam.requests({ resource: "pods", verb: "watch" }).length === 0) {
    return exam.judge(id, "skipped", "not examined: the agent does not watch pods");
  }
  watches.set(match, { how, count: 1 });
  await exam.until(2_000, () => undefined);
  watches.set(match, undefined);
  await createPod(exam, name);
  const pod = await untilPod(exam, name, isPhase("Running"));
  const asked = exam.requests({ resource: "pods", verb: "list watch", fromMs });
  const after = how === "end" ? "the end of its watch" : "410 Expired in its watch";
  const hasListed = asked.some(({ verb }) => verb === "list");
  if (pod === undefined) {
    const count = counted(asked.length, "list or watch", " requests");
    const why = `a pod created after ${after} was not started within ${POD_MS / 1000} s; ${count} since`;
    exam.judge(id, false, why, exam.linesOf(asked));
  } else if (how === "expire" && !hasListed) {
    const why = "it watches again after 410 Expired without a list: what changed in between is lost";
    exam.judge(id, false, why, exam.linesOf(asked));
  } else exam.judge(id, true, `a pod created after ${after} is Running`);
}

function examineOthers(exam: Exam): void {
  const changes = exam.changesOf("default/not-yours");
  const written = exam
    .requests({ resource: "pods/*", name: "not-yours" })
    .filter(({ verb }) => verb !== "get" && verb !== "list" && verb !== "watch");
  const isAlone = changes.length === 0 && written.length === 0;
  if (isAlone && statusWrites(exam).length === 0) {
    exam.judge("own-pods-only", "skipped", "not examined: the agent ran no pod, not even its own");
  }
  const why = isAlone
    ? "pod not-yours, which is bound to another-node, was not touched"
    : "pod not-yours is bound to another-node, and was touched";
  exam.judge("own-pods-only", isAlone, why, [...exam.changeLines(changes), ...exam.linesOf(written)]);
}
