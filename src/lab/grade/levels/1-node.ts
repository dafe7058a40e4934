import { type NodeObject, nodeCondition } from "../../../staging/apimachinery/api/node.js";
import type { LeaseObject } from "../../../staging/apimachinery/api/objects.js";
import { NODE_LEASES, NODES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { counted } from "../../../util/text/counted.js";
import { type Exam, type Examine, START_REAL_MS, StopLevel } from "../exam.js";
import { NODE_NAME } from "../place.js";
import type { SeenRequest } from "../request-log.js";
import { halves, hastySeries, renewalRhythm } from "../rhythm.js";

const NODE_PATH = objectPath(NODES, NODE_NAME);
const LEASE_PATH = objectPath(NODE_LEASES, NODE_NAME);

/** A new node has this long until it must be there. */
const START_MS = 20_000;
const WATCH_MS = 45_000;
/** The kubelet writes a status that did not change every 5 min. A second write may be a late change of the start. */
const MAX_STATUS_WRITES = 2;
/** From the first refusal on. */
const REFUSED_MS = 20_000;
/** The kubelet's are at most 5 and then about 9: 100 ms, doubled up to 7 s. */
const MAX_REFUSED = 40;
const BACK_MS = 25_000;
/** The kubelet gives up a renewal after 5 attempts. */
const MAX_CONFLICTS = 10;
const SIGTERM_MS = 10_000;

/** Level 1: the node registers, tells its state, and keeps its Lease. */
export const examineNodeLevel: Examine = async (exam) => {
  await examineNode(exam, await registered(exam));
  await examineLease(exam);
  await examineMinute(exam);
  await examineRefusal(exam);
  await examineConflict(exam);
  await examineEnd(exam);
};

async function registered(exam: Exam): Promise<NodeObject> {
  const node = await exam.until(START_MS, () => exam.read<NodeObject>(NODE_PATH), START_REAL_MS);
  const tried = exam.requests({ resource: "nodes" });
  if (node === undefined) {
    const why = `no Node ${NODE_NAME} after ${START_MS / 1000} s; the API server saw ${counted(exam.requests().length, "request")}`;
    exam.judge("node-registered", false, why, exam.linesOf(tried.length > 0 ? tried : exam.requests()));
    throw new StopLevel(`There is no Node ${NODE_NAME}.`);
  }
  const why = `Node ${NODE_NAME} exists after ${exam.seconds(exam.now)} s`;
  exam.judge("node-registered", true, why, exam.linesOf(exam.requests({ resource: "nodes", verb: "create" })));
  return node;
}

async function examineNode(exam: Exam, first: NodeObject): Promise<void> {
  const ready = await exam.until(START_MS, async () => {
    const node = await exam.read<NodeObject>(NODE_PATH);
    return node !== undefined && nodeCondition(node, "Ready")?.status === "True" ? node : undefined;
  });
  const node = ready ?? (await exam.read<NodeObject>(NODE_PATH)) ?? first;
  const labels = node.metadata.labels ?? {};
  report(exam, "node-labels", "every label is there", [
    ["label kubernetes.io/hostname", labels["kubernetes.io/hostname"] === NODE_NAME],
    ["label kubernetes.io/os", isText(labels["kubernetes.io/os"])],
    ["label kubernetes.io/arch", isText(labels["kubernetes.io/arch"])],
  ]);
  const { nodeInfo, addresses = [], capacity = {}, allocatable = {} } = node.status ?? {};
  report(exam, "node-info", "every field is there", [
    ["nodeInfo.kubeletVersion", isText(nodeInfo?.kubeletVersion)],
    ["nodeInfo.operatingSystem", isText(nodeInfo?.operatingSystem)],
    ["nodeInfo.architecture", isText(nodeInfo?.architecture)],
    ["addresses (InternalIP)", addresses.some(({ type, address }) => type === "InternalIP" && isText(address))],
    ...["cpu", "memory", "pods"].flatMap((name) => [
      [`capacity.${name}`, isText(capacity[name])] as const,
      [`allocatable.${name}`, isText(allocatable[name])] as const,
    ]),
  ]);
  const is = (type: string, status: string) => {
    const found = nodeCondition(node, type);
    return found?.status === status && isText(found.reason) && isText(String(found.lastHeartbeatTime ?? ""));
  };
  report(exam, "node-conditions", "every condition is there, with its reason and its last heartbeat", [
    ["Ready: True", is("Ready", "True")],
    ["MemoryPressure: False", is("MemoryPressure", "False")],
    ["DiskPressure: False", is("DiskPressure", "False")],
    ["PIDPressure: False", is("PIDPressure", "False")],
  ]);
}

/** One verdict about several parts. @param fine why it passes */
function report(exam: Exam, id: string, fine: string, parts: readonly (readonly [name: string, ok: boolean])[]): void {
  const lacking = parts.flatMap(([name, ok]) => (ok ? [] : [name]));
  exam.judge(id, lacking.length === 0, lacking.length === 0 ? fine : `missing or wrong: ${lacking.join(", ")}`);
}

function isText(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}

async function examineLease(exam: Exam): Promise<void> {
  const lease = await exam.until(START_MS, () => exam.read<LeaseObject>(LEASE_PATH));
  if (lease === undefined) {
    const why = `no Lease ${NODE_NAME} in kube-node-lease after ${START_MS / 1000} s`;
    exam.judge("lease-held", false, why, exam.linesOf(exam.requests({ resource: "leases" })));
    for (const id of ["lease-renewed", "lease-backs-off", "lease-conflict"]) exam.judge(id, false, "there is no Lease");
    return;
  }
  const { holderIdentity, leaseDurationSeconds, renewTime } = lease.spec ?? {};
  const owner = lease.metadata.ownerReferences?.[0];
  report(exam, "lease-held", "holder, duration, time and owner are right", [
    [`holderIdentity ${NODE_NAME}`, holderIdentity === NODE_NAME],
    ["leaseDurationSeconds 40", leaseDurationSeconds === 40],
    ["renewTime", isText(String(renewTime ?? ""))],
    ["ownerReferences: its Node", owner?.kind === "Node" && owner.name === NODE_NAME],
  ]);
}

/** How often it writes while nothing happens. */
async function examineMinute(exam: Exam): Promise<void> {
  const fromMs = exam.now;
  await exam.pass(WATCH_MS);
  const window = { fromMs, toMs: exam.now };
  const renewed = renewals(exam, fromMs, window.toMs);
  const before = renewals(exam, exam.startMs, fromMs - 1).at(-1)?.atMs ?? fromMs;
  const { isSteady, longestMs } = renewalRhythm(before, renewed, exam.now, exam.place.clock.speed, exam.noiseMs);
  const seen = `${counted(renewed.length, "renewal")} in ${WATCH_MS / 1000} s, at most ${secondsText(longestMs)} s apart`;
  const wanted = `${seen}; the kubelet renews every 10 s, which is 4 or 5`;
  exam.judge("lease-renewed", isSteady, isSteady ? seen : wanted, isSteady ? [] : exam.linesOf(renewed));
  const written = exam.requests({ ...window, resource: "nodes/*", verb: "update patch", name: NODE_NAME });
  const isQuiet = written.length <= MAX_STATUS_WRITES;
  const writes = `${counted(written.length, "write")} of the Node in ${WATCH_MS / 1000} s in which nothing changed`;
  const limit = `${writes}; the kubelet repeats a status every 5 min, because each write goes to every watcher of nodes`;
  exam.judge("status-quiet", isQuiet, isQuiet ? writes : limit, isQuiet ? [] : exam.linesOf(written));
}

function renewals(exam: Exam, fromMs: number, toMs: number): readonly SeenRequest[] {
  return exam.requests({ resource: "leases", verb: "create update patch", fromMs, toMs, isAccepted: true });
}

function secondsText(ms: number): string {
  return (ms / 1000).toFixed(1);
}

async function examineRefusal(exam: Exam): Promise<void> {
  const { requests: faults } = exam.place.faults;
  const match = { user: exam.user, resource: "leases" };
  const fromMs = exam.now;
  const refusals = () => exam.requests({ resource: "leases", fromMs });
  faults.set(match, { code: 500 });
  await exam.until(BACK_MS, () => refusals()[0]);
  await exam.pass(REFUSED_MS);
  faults.set(match, undefined);
  const toMs = exam.now;
  const refused = refusals().filter(({ atMs }) => atMs <= toMs);
  const back = await exam.until(BACK_MS, () => renewals(exam, toMs, exam.now)[0]);
  const asked = `${counted(refused.length, "request")} for the Lease in ${REFUSED_MS / 1000} s of refusals`;
  const hasty = hastySeries(refused, exam.noiseMs);
  if (refused.length > MAX_REFUSED || hasty !== undefined) {
    const { series, early, late } = hasty ?? { series: refused, ...halves(refused) };
    const why = `${asked}, without a growing wait between them: on average ${secondsText(early)} s at first and ${secondsText(late)} s at last`;
    exam.judge("lease-backs-off", false, why, exam.linesOf(series.slice(-5)));
  } else if (back === undefined) {
    const why = `${asked}, and no renewal in the ${BACK_MS / 1000} s after them`;
    exam.judge("lease-backs-off", false, why, exam.linesOf(refused.slice(-5)));
  } else if (refused.length === 0) {
    exam.judge("lease-backs-off", "skipped", "not examined: the agent did not try to renew its Lease meanwhile");
  } else {
    const seconds = secondsText(back.atMs - toMs);
    exam.judge("lease-backs-off", true, `${asked}, and a renewal ${seconds} s after them`);
  }
}

/** The administrator changes the Lease: the version that the agent knows is then an old one. */
async function examineConflict(exam: Exam): Promise<void> {
  const fromMs = exam.now;
  const body = { metadata: { annotations: { "kubelab.io/changed-by": "the examiner" } } };
  const contentType = "application/merge-patch+json";
  await exam.request({ method: "PATCH", path: LEASE_PATH, body, contentType });
  const renewed = await exam.until(BACK_MS, () => renewals(exam, fromMs, exam.now)[0]);
  const conflicts = exam.requests({ resource: "leases", fromMs }).filter(({ status }) => status === 409);
  const seen = `${counted(conflicts.length, "conflict")} after another client changed the Lease`;
  const isFine = renewed !== undefined && conflicts.length <= MAX_CONFLICTS;
  const why = isFine
    ? `${seen}, then a renewal`
    : `${seen}; a client that sends an old resourceVersion again gets the same answer for ever`;
  exam.judge("lease-conflict", isFine, why, isFine ? [] : exam.linesOf(conflicts));
}

async function examineEnd(exam: Exam): Promise<void> {
  const isOver = await exam.agent.terminate(SIGTERM_MS, exam.signal);
  const why = isOver ? "it has ended" : `it still runs ${SIGTERM_MS / 1000} s after SIGTERM, and is killed`;
  exam.judge("sigterm", isOver, why);
}
