import { type NodeObject, nodeCondition } from "../../../staging/apimachinery/api/node.js";
import { NODES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { counted } from "../../../util/text/counted.js";
import type { Exam, Examine } from "../exam.js";
import {
  createPod,
  isPhase,
  mainStatus,
  podPath,
  podText,
  readPod,
  startsOf,
  untilNodeReady,
  untilPod,
} from "../pods.js";
import type { SeenRequest } from "../request-log.js";
import { hastySeries } from "../rhythm.js";
import { examinePressure } from "./5-pressure.js";

const AWAY_MS = 30_000;
const BACK_MS = 45_000;
/** The kubelet has about ten watches, each of which tries again after 1 to 30 s, and a Lease. */
const MAX_AWAY_REQUESTS = 300;
const MIN_WAIT_MS = 800;
/** The kubelet takes a runtime for down after 30 s of failed calls, and writes its status every 10 s. */
const NOT_READY_MS = 75_000;
const STORAGE_LIMIT = "10Mi";
const FILL_BYTES = 50 * 2 ** 20;
/** The kubelet looks every 10 s, at statistics that are up to 10 s old. */
const EVICTION_MS = 60_000;
/** The kubelet reports an eviction before the container has ended. */
const ENDED_MS = 15_000;
const ADOPT_MS = 20_000;

/** Level 5: what fails around the agent, and that it comes back. */
export const examineOutages: Examine = async (exam) => {
  await untilNodeReady(exam);
  for (const name of ["stays", "leaves"]) await createPod(exam, name);
  await createPod(exam, "fills", { resources: { limits: { "ephemeral-storage": STORAGE_LIMIT } } });
  for (const name of ["stays", "leaves", "fills"]) await untilPod(exam, name, isPhase("Running"));
  await examineRestart(exam);
  await examineAway(exam);
  if (exam.uses("cri")) {
    await examineDisk(exam);
    await examineRuntime(exam);
    await examinePressure(exam);
  } else exam.skipWithout("cri", ["storage-limit", "runtime-away", "memory-pressure", "evicts-by-rank"]);
};

async function examineRestart(exam: Exam): Promise<void> {
  const before = mainStatus(await readPod(exam, "stays"))?.containerID;
  const hasRun = before !== undefined && startsOf(exam, "stays").length > 0;
  exam.skipWithout("cri", ["adopts-containers"]);
  if (!hasRun) exam.judge("adopts-containers", "skipped", "not examined: pod stays never ran in the runtime");
  await exam.restartAgent();
  const fromMs = exam.now;
  await exam.until(BACK_MS, () => exam.requests({ resource: "leases", fromMs, isAccepted: true })[0]);
  await exam.pass(ADOPT_MS);
  const pod = await readPod(exam, "stays");
  const starts = startsOf(exam, "stays");
  const isKept = mainStatus(pod)?.containerID === before && starts.length <= 1 && pod?.status?.phase === "Running";
  const why = isKept
    ? "after the agent was killed and started again, pod stays has the same container"
    : `after the agent was killed and started again, pod stays: ${podText(pod)}, ${counted(starts.length, "start")} of its container`;
  exam.judge("adopts-containers", isKept, why, isKept ? [] : exam.changeLines(exam.changesOf("default/stays", "main")));
}

/** The agent's connections end, its requests get no answer; then they do again. */
async function examineAway(exam: Exam): Promise<void> {
  const { requests, watches } = exam.place.faults;
  const match = { user: exam.user };
  const [fromMs, starts] = [exam.now, startsOf(exam, "stays").length];
  requests.set(match, { drops: true });
  watches.set(match, { how: "end" });
  await exam.remove(podPath("leaves"));
  const container = startsOf(exam, "stays").at(-1);
  if (container !== undefined) await exam.place.runtime.control.killContainer(container.id);
  await exam.pass(AWAY_MS);
  const toMs = exam.now;
  requests.set(match, undefined);
  watches.set(match, undefined);
  const again = startsOf(exam, "stays").slice(starts)[0];
  const isLocal = again !== undefined && again.atMs <= toMs;
  const local = isLocal
    ? `the container of pod stays was started again ${((again.atMs - fromMs) / 1000).toFixed(1)} s after it was killed`
    : `the container of pod stays was not started again in ${AWAY_MS / 1000} s without an API server`;
  exam.judge("away-local", isLocal, local);
  const tried = exam.requests({ fromMs, toMs });
  const hasty = hastyRequests(tried, exam.noiseMs);
  const isQuiet = tried.length <= MAX_AWAY_REQUESTS && hasty === undefined;
  const count = `${counted(tried.length, "request")} in ${AWAY_MS / 1000} s without an answer`;
  if (tried.length === 0) exam.judge("away-quiet", "skipped", "not examined: the agent sent no request meanwhile");
  const why = hasty === undefined ? count : `${count}; the same one came ${hasty.length} times without a growing wait`;
  exam.judge("away-quiet", isQuiet, why, isQuiet ? [] : exam.linesOf((hasty ?? tried).slice(-5)));
  await examineBack(exam, toMs);
}

/** The first request that was repeated hastily: its attempts. client-go repeats a read whose connection broke every second. */
function hastyRequests(tried: readonly SeenRequest[], noiseMs: number): readonly SeenRequest[] | undefined {
  const keyOf = ({ verb, resource, subresource, name }: SeenRequest) => [verb, resource, subresource, name].join(" ");
  const keys = [...new Set(tried.map(keyOf))];
  const all = keys.map((key) => tried.filter((one) => keyOf(one) === key)).map((own) => hastySeries(own, noiseMs));
  return all.find((one) => one !== undefined && one.late < MIN_WAIT_MS)?.series;
}

async function examineBack(exam: Exam, backMs: number): Promise<void> {
  const renewed = await exam.until(BACK_MS, () => renewalSince(exam, backMs));
  const lease =
    renewed === undefined
      ? `no renewal of the Lease in ${BACK_MS / 1000} s after the API server was back`
      : `the Lease was renewed ${((renewed.atMs - backMs) / 1000).toFixed(1)} s after the API server was back`;
  exam.judge("back-lease", renewed !== undefined, lease);
  const told = await untilPod(exam, "stays", (pod) => mainStatus(pod)?.restartCount === 1, BACK_MS);
  const stays = `pod stays, whose container ended meanwhile: ${podText(told ?? (await readPod(exam, "stays")))}`;
  exam.judge("back-status", told !== undefined, stays);
  const gone = await exam.until(BACK_MS, async () =>
    (await readPod(exam, "leaves")) === undefined ? true : undefined,
  );
  const ended = exam.changesOf("default/leaves", "main").some(({ from }) => from === "running");
  const isFine = gone === true && (ended || !exam.uses("cri"));
  const rest = gone === true ? "its object went, and its container still runs" : podText(await readPod(exam, "leaves"));
  const why = isFine
    ? "pod leaves, which was deleted meanwhile, has ended and is gone"
    : `pod leaves was deleted meanwhile: ${rest}`;
  exam.judge("back-deleted", isFine, why);
}

function renewalSince(exam: Exam, fromMs: number) {
  return exam.requests({ resource: "leases", verb: "create update patch", fromMs, isAccepted: true })[0];
}

async function untilReadyIs(exam: Exam, wanted: (status: string) => boolean, withinMs: number) {
  return exam.until(withinMs, async () => {
    const node = await exam.read<NodeObject>(objectPath(NODES, exam.nodeName));
    const ready = node && nodeCondition(node, "Ready");
    return ready !== undefined && wanted(ready.status) ? ready : undefined;
  });
}

async function examineRuntime(exam: Exam): Promise<void> {
  const { control } = exam.place.runtime;
  await control.setFault("*", { fail: { code: "Unavailable", message: "the runtime is away" } });
  const notReady = await untilReadyIs(exam, (status) => status === "False", NOT_READY_MS);
  await control.clearFaults();
  if (notReady === undefined) {
    const why = `Ready did not become False in ${NOT_READY_MS / 1000} s in which every call of the runtime failed`;
    exam.judge("runtime-away", false, why);
    return;
  }
  const ready = await untilReadyIs(exam, (status) => status === "True", BACK_MS);
  const why =
    ready === undefined ? "Ready became False, and not True again" : "Ready became False, and then True again";
  exam.judge("runtime-away", ready !== undefined, why);
}

/** The usage is the runtime's: the examiner neither fills the machine's disk nor its memory. */
async function examineDisk(exam: Exam): Promise<void> {
  const container = startsOf(exam, "fills").at(-1);
  if (container === undefined) return exam.judge("storage-limit", false, "pod fills never ran");
  await exam.place.runtime.control.loadContainer(container.id, { fillBytes: FILL_BYTES });
  const evicted = await untilPod(exam, "fills", ({ status }) => status?.reason === "Evicted", EVICTION_MS);
  const pod = evicted ?? (await readPod(exam, "fills"));
  const isEnded = () => exam.changesOf("default/fills", "main").find(({ from }) => from === "running");
  const ended = evicted && (await exam.until(ENDED_MS, isEnded));
  const isFine = evicted?.status?.phase === "Failed" && ended !== undefined;
  const why = `pod fills, limit ${STORAGE_LIMIT}, writes 50 MiB: ${podText(pod)}, reason ${pod?.status?.reason ?? "not reported"}`;
  exam.judge("storage-limit", isFine, why);
}
