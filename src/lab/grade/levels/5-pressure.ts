import { type NodeObject, nodeCondition } from "../../../staging/apimachinery/api/node.js";
import { quantityOf, unitValue } from "../../../staging/apimachinery/quantity.js";
import { NODES, objectPath } from "../../../staging/client-go/rest/paths.js";
import type { Exam } from "../exam.js";
import { createPod, isPhase, podText, readPod, startsOf, untilPod } from "../pods.js";

/** The kubelet looks every 10 s, at statistics that are up to 10 s old, and evicts one pod at a time. */
const PRESSURE_MS = 60_000;
/** Parts of what the Node can allocate. Together they are more than all of it; the larger one is within its request. */
const ENTITLED = { requests: 0.6, uses: 0.55 };
const GREEDY_USES = 0.5;

/**
 * Pods use more memory than the Node can allocate, by the statistics of the runtime: the machine's memory is not touched.
 * The pod above its request goes, though the other one is larger.
 */
export async function examinePressure(exam: Exam): Promise<void> {
  const skip = (why: string) => {
    for (const id of ["memory-pressure", "evicts-by-rank"]) exam.judge(id, "skipped", why);
  };
  const bytes = unitValue((await readNode(exam))?.status?.allocatable?.["memory"]);
  if (bytes === 0) return skip("not examined: the Node has no allocatable memory");
  const entitled = stress(bytes * ENTITLED.uses);
  const requests = { memory: quantityOf(Math.floor(bytes * ENTITLED.requests), "bytes") };
  await createPod(exam, "entitled", { ...entitled, resources: { requests } });
  await createPod(exam, "greedy", stress(bytes * GREEDY_USES));
  const both = await exam.until(PRESSURE_MS, () =>
    startsOf(exam, "entitled").length > 0 && startsOf(exam, "greedy").length > 0 ? true : undefined,
  );
  if (both === undefined) return skip("not examined: pods entitled and greedy never ran");
  const pressure = await exam.until(PRESSURE_MS, async () => {
    const node = await readNode(exam);
    const found = node && nodeCondition(node, "MemoryPressure");
    return found?.status === "True" ? found : undefined;
  });
  const over = `pods used ${Math.round((ENTITLED.uses + GREEDY_USES) * 100)} % of the Node's allocatable memory`;
  const reported = pressure === undefined ? "was not reported" : `was reported, reason ${pressure.reason}`;
  exam.judge("memory-pressure", pressure !== undefined, `${over}: MemoryPressure ${reported}`);
  const evicted = await untilPod(exam, "greedy", ({ status }) => status?.reason === "Evicted", PRESSURE_MS);
  const [greedy, kept] = [evicted ?? (await readPod(exam, "greedy")), await readPod(exam, "entitled")];
  const isFine = evicted?.status?.phase === "Failed" && kept !== undefined && isPhase("Running")(kept);
  const why = `${over}; pod greedy, which requests none: ${podText(greedy)}; pod entitled, which stays within its request: ${podText(kept)}`;
  exam.judge("evicts-by-rank", isFine, why);
}

function readNode(exam: Exam): Promise<NodeObject | undefined> {
  return exam.read<NodeObject>(objectPath(NODES, exam.nodeName));
}

/** A container that reports to use so much memory. */
function stress(bytes: number) {
  return { image: "stress", command: ["stress", "--vm", "1", "--vm-bytes", String(Math.ceil(bytes))] };
}
