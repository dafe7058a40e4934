import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { counted } from "../../../util/text/counted.js";
import type { Exam, Examine } from "../exam.js";
import {
  createPod,
  isPhase,
  isReady,
  mainStatus,
  podText,
  readPod,
  startsOf,
  untilNodeReady,
  untilPod,
} from "../pods.js";
import { waitsBetween } from "../rhythm.js";
import { createProbed, examineHttpProbe, examineTcpProbe } from "./3-network-probes.js";
import { serveProbes } from "./probe-target.js";

/** From the start of the crashing pod on. The kubelet starts it at 0, 1, 12 and 33 s. */
const CRASH_MS = 50_000;
const STARTS = { min: 2, max: 6 } as const;
/** Of the last wait between two starts: the kubelet's is 10 s or more. */
const MIN_LAST_GAP_MS = 8_000;
const RESTART_MS = 30_000;
/** The containers that become ready or started do so after this long. */
const SLOW_SECONDS = 15;
const SLOW_MS = 45_000;
/** The runtime reports a start a little late. */
const EARLY_MS = 2_000;
const TOUCH = ["sh", "-c", `trap 'exit 0' TERM; sleep ${SLOW_SECONDS}; touch /tmp/there; while true; do sleep 1; done`];
const IS_THERE = { exec: { command: ["sh", "-c", "test -f /tmp/there"] }, timeoutSeconds: 10 };

/** Level 3: what becomes of containers that end, and of those that are not well. */
export const examineRestarts: Examine = async (exam) => {
  await untilNodeReady(exam);
  await using target = await serveProbes();
  await createProbed(exam, target);
  await createPod(exam, "crash", { command: ["sh", "-c", "exit 1"] });
  const crashMs = exam.now;
  await createPod(exam, "always");
  await createPod(exam, "on-failure", { command: ["sh", "-c", "exit 1"] }, { restartPolicy: "OnFailure" });
  await createPod(exam, "on-success", { command: ["sh", "-c", "exit 0"] }, { restartPolicy: "OnFailure" });
  await createPod(exam, "sick", {
    livenessProbe: { exec: { command: ["sh", "-c", "exit 1"] }, periodSeconds: 2, failureThreshold: 3 },
  });
  await createPod(exam, "late", { command: TOUCH, readinessProbe: { ...IS_THERE, periodSeconds: 1 } });
  await createPod(exam, "slow", {
    command: TOUCH,
    startupProbe: { ...IS_THERE, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...IS_THERE, periodSeconds: 1, failureThreshold: 1 },
  });
  await examineReadiness(exam);
  await examineTcpProbe(exam, target);
  await examineHttpProbe(exam, target);
  await examineStartup(exam);
  await examineLiveness(exam);
  await examineAlways(exam);
  await examineOnFailure(exam);
  await exam.pass(Math.max(0, crashMs + CRASH_MS - exam.now));
  await examineCrash(exam, crashMs);
};

/** The agent reported a state before the container can have reached it. */
function isEarly(exam: Exam, name: string, isReached: (pod: V1Pod) => boolean): boolean {
  const writes = exam.requests({ resource: "pods/status", verb: "update patch", name, isAccepted: true });
  const first = writes.find(({ answer }) => isReached(answer as V1Pod));
  const [start] = startsOf(exam, name);
  return first !== undefined && start !== undefined && first.atMs < start.atMs + SLOW_SECONDS * 1000 - EARLY_MS;
}

/** Not ready while it runs, then ready, without a restart. */
async function examineReadiness(exam: Exam): Promise<void> {
  const id = "readiness-probe";
  const early = await untilPod(exam, "late", isPhase("Running"));
  if (early === undefined) return exam.judge(id, false, `pod late: ${podText(await readPod(exam, "late"))}`);
  const pod = await untilPod(exam, "late", isReady, SLOW_MS);
  if (isEarly(exam, "late", isReady)) {
    return exam.judge(id, false, "pod late was reported Ready while its readiness probe failed");
  }
  const restarts = mainStatus(await readPod(exam, "late"))?.restartCount ?? 0;
  if (pod === undefined)
    exam.judge(id, false, "pod late was never reported Ready, though its readiness probe succeeds");
  else if (restarts > 0) exam.judge(id, false, "the container of pod late was restarted for its readiness probe");
  else exam.judge(id, true, `pod late became Ready when its probe succeeded, ${SLOW_SECONDS} s after its start`);
}

async function examineStartup(exam: Exam): Promise<void> {
  const isStarted = (pod: V1Pod) => mainStatus(pod)?.started === true;
  const pod = (await untilPod(exam, "slow", isStarted, SLOW_MS)) ?? (await readPod(exam, "slow"));
  if (isEarly(exam, "slow", isStarted)) {
    return exam.judge("startup-probe", false, "pod slow was reported started while its startup probe failed");
  }
  const starts = startsOf(exam, "slow");
  const isFine = pod !== undefined && isStarted(pod) && mainStatus(pod)?.restartCount === 0 && starts.length <= 1;
  const why = isFine
    ? "pod slow has started, and its liveness probe did not end it before"
    : `pod slow: ${podText(pod)}; started: ${mainStatus(pod)?.started ?? "not reported"}`;
  exam.judge("startup-probe", isFine, why, isFine ? [] : exam.changeLines(exam.changesOf("default/slow", "main")));
}

async function examineLiveness(exam: Exam): Promise<void> {
  const pod = await untilPod(exam, "sick", (one) => (mainStatus(one)?.restartCount ?? 0) > 0, RESTART_MS);
  const changes = exam.changesOf("default/sick", "main");
  const seen = pod ?? (await readPod(exam, "sick"));
  exam.judge("liveness-probe", pod !== undefined, `pod sick: ${podText(seen)}`, exam.changeLines(changes));
}

async function examineAlways(exam: Exam): Promise<void> {
  const running = await untilPod(exam, "always", isPhase("Running"));
  const container = startsOf(exam, "always").at(-1);
  if (running === undefined || container === undefined) {
    const why = `pod always: ${podText(await readPod(exam, "always"))}`;
    exam.judge("restart-always", false, why);
    exam.judge("restart-in-place", false, why);
    return;
  }
  await exam.place.runtime.control.killContainer(container.id);
  const isRestarted = (pod: V1Pod) => {
    const main = mainStatus(pod);
    return main?.restartCount === 1 && !!main.state?.running && main.lastState?.terminated?.exitCode === 137;
  };
  const restarted = await untilPod(exam, "always", isRestarted, RESTART_MS);
  const pod = restarted ?? (await readPod(exam, "always"));
  const last = mainStatus(pod)?.lastState?.terminated?.exitCode;
  const why = `pod always after SIGKILL: ${podText(pod)}, last exit code ${last ?? "not reported"}`;
  const lines = exam.changeLines(exam.changesOf("default/always", "main"));
  exam.judge("restart-always", restarted !== undefined, why, restarted === undefined ? lines : []);
  const sandboxes = exam.changesOf("default/always").filter(({ to }) => to === "ready");
  const count = counted(sandboxes.length, "sandbox", "es");
  const isInPlace = sandboxes.length === 1 && startsOf(exam, "always").length > 1;
  exam.judge("restart-in-place", isInPlace, `pod always had ${count}`, isInPlace ? [] : exam.changeLines(sandboxes));
}

async function examineOnFailure(exam: Exam): Promise<void> {
  const failing = await untilPod(exam, "on-failure", (pod) => (mainStatus(pod)?.restartCount ?? 0) > 0, RESTART_MS);
  const ended = await untilPod(exam, "on-success", isPhase("Succeeded"));
  const starts = startsOf(exam, "on-success");
  if (starts.length > 1) {
    const why = `the container of pod on-success, which ends with 0, was started ${starts.length} times`;
    return exam.judge("restart-on-failure", false, why, exam.changeLines(starts));
  }
  const [bad, good] = await Promise.all([readPod(exam, "on-failure"), readPod(exam, "on-success")]);
  const why = `pod on-failure: ${podText(bad)}; pod on-success: ${podText(good)}`;
  exam.judge("restart-on-failure", failing !== undefined && ended !== undefined, why);
}

/** Other requirements may have taken longer than `CRASH_MS`: later starts do not count. */
async function examineCrash(exam: Exam, crashMs: number): Promise<void> {
  const starts = startsOf(exam, "crash").filter(({ atMs }) => atMs <= crashMs + CRASH_MS);
  const gaps = waitsBetween(starts.map(({ atMs }) => atMs));
  const lastGapMs = gaps.at(-1) ?? 0;
  const isSlower = gaps.length < 2 || lastGapMs >= MIN_LAST_GAP_MS;
  const isFine = starts.length >= STARTS.min && starts.length <= STARTS.max && isSlower;
  const after = gaps.map((ms) => (ms / 1000).toFixed(1)).join(", ");
  const count = `${counted(starts.length, "start")} in ${CRASH_MS / 1000} s`;
  const seen = gaps.length === 0 ? `${count} of the container that crashes` : `${count}, with waits of ${after} s`;
  const wanted = `${seen}; the kubelet waits 10 s, then twice as long each time, up to 5 min`;
  exam.judge("crash-back-off", isFine, isFine ? seen : wanted, isFine ? [] : exam.changeLines(starts));
  const isReported = (pod: V1Pod) => {
    const main = mainStatus(pod);
    return (
      main?.state?.waiting?.reason === "CrashLoopBackOff" &&
      main.lastState?.terminated?.exitCode === 1 &&
      main.restartCount === startsOf(exam, "crash").length - 1
    );
  };
  const pod = (await untilPod(exam, "crash", isReported)) ?? (await readPod(exam, "crash"));
  const last = mainStatus(pod)?.lastState?.terminated?.exitCode ?? "not reported";
  const why = `pod crash: ${podText(pod)}, last exit code ${last}`;
  exam.judge("crash-reported", pod !== undefined && isReported(pod), why);
}
