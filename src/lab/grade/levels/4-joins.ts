import { rm } from "node:fs/promises";
import { join } from "node:path";
import { nodeSubject } from "../../../kubelet/certificate/node-identity.js";
import { base64Text, type CertificateSigningRequest } from "../../../staging/apimachinery/api/certificates.js";
import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { NODES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { parseCertificateRequestPem } from "../../../staging/pki/csr.js";
import { DerError } from "../../../staging/pki/der.js";
import { nameText } from "../../../staging/pki/name.js";
import { KUBE_APISERVER_CLIENT_KUBELET } from "../../../staging/pki/signers.js";
import { writeFileAtomic } from "../../../util/os/files.js";
import { counted } from "../../../util/text/counted.js";
import { stringify } from "../../../util/yaml.js";
import type { Exam, Examine } from "../exam.js";
import { execInPod } from "../exec.js";
import {
  createPod,
  isPhase,
  podManifest,
  podPath,
  podText,
  readPod,
  startsOf,
  untilNodeReady,
  untilPod,
  WAITS,
} from "../pods.js";
import type { SeenRequest } from "../request-log.js";

const CSR_RESOURCE = "certificatesigningrequests";
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

const MAX_REQUESTS = 8;
/** The kubelet reads its manifests every 20 s. */
const FILE_MS = 45_000;
/** Two are right: one at first, one after the deletion. */
const MAX_MIRRORS = 6;
/** Go's kubelet creates a mirror pod that was deleted by force with the next sync of its pod: every minute, and half of it at most. */
const MIRROR_MS = 100_000;
const STATIC = "static-web";
const LINE = "the line that the examiner looks for";

/** Level 4: the agent's own server, its certificate, and pods that come from files. */
export const examineJoins: Examine = async (exam) => {
  exam.skipWithout("bootstrap", ["bootstrap", "rotation"]);
  exam.skipWithout("manifests", ["static-pod", "mirror-pod", "mirror-quiet"]);
  await untilNodeReady(exam);
  const readyMs = exam.now;
  const hasFolder = exam.uses("manifests");
  if (hasFolder) await writeFileAtomic(manifestPath(exam), stringify(podManifest(STATIC, {})));
  await createPod(exam, "talks", { command: ["sh", "-c", `echo '${LINE}'; ${WAITS[2]}`] });
  await examineServer(exam);
  if (exam.uses("bootstrap")) examineBootstrap(exam);
  if (hasFolder) await examineStatic(exam);
  if (exam.uses("bootstrap")) await examineRotation(exam, readyMs);
  if (hasFolder) await examineRemoval(exam);
};

function manifestPath({ place }: Exam): string {
  return join(place.values["manifests"] ?? "", `${STATIC}.yaml`);
}

async function examineServer(exam: Exam): Promise<void> {
  const node = await exam.read<NodeObject>(objectPath(NODES, exam.nodeName));
  if (!node?.status?.daemonEndpoints?.kubeletEndpoint?.Port) {
    // The API server would ask the default port, where another kubelet may answer.
    const why = `Node ${exam.nodeName} names no port: status.daemonEndpoints.kubeletEndpoint.Port is missing`;
    for (const id of ["serves-healthz", "logs", "exec"]) exam.judge(id, false, why);
    return;
  }
  const healthz = objectPath(NODES, exam.nodeName, "proxy/healthz");
  const health = await exam.request<unknown>({ method: "GET", path: healthz });
  const text = (body: unknown) => (typeof body === "string" ? body : messageIn(body));
  const why = `GET ${healthz} was answered: ${health.status} ${text(health.body).trim().slice(0, 160)}`;
  exam.judge("serves-healthz", health.status === 200, why);
  const running = await untilPod(exam, "talks", isPhase("Running"));
  if (running === undefined) {
    const never = `pod talks: ${podText(await readPod(exam, "talks"))}`;
    for (const id of ["logs", "exec"]) exam.judge(id, false, never);
    return;
  }
  let last = "";
  const path = `${podPath("talks")}/log`;
  const log = await exam.until(10_000, async () => {
    const { status, body } = await exam.request<unknown>({ method: "GET", path });
    last = `${status} ${text(body).trim().slice(0, 160)}`;
    return last.includes(LINE) ? last : undefined;
  });
  exam.judge("logs", log !== undefined, `GET ${path} was answered: ${last}`);
  const done = await execInPod(exam, "talks", ["sh", "-c", "echo $((6 * 7))"]);
  const isRight = done.outcome === "ended" && done.stdout.trim() === "42" && done.status === "Success";
  const answered = done.outcome === "ended" ? `${done.status} ${done.stdout.trim().slice(0, 80)}` : done.why;
  exam.judge("exec", isRight, `echo $((6 * 7)) in pod talks: ${answered}`);
}

function messageIn(body: unknown): string {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? message : "";
}

function certificateRequests(exam: Exam, user: RegExp): readonly SeenRequest[] {
  return exam
    .requests({ resource: CSR_RESOURCE, verb: "create", isAccepted: true })
    .filter((one) => user.test(one.user));
}

function examineBootstrap(exam: Exam): void {
  const [first] = certificateRequests(exam, /^system:bootstrap:/);
  const { spec } = (first?.body ?? {}) as Partial<CertificateSigningRequest>;
  if (spec === undefined) {
    exam.judge("bootstrap", false, "no CertificateSigningRequest came with the bootstrap token");
    return;
  }
  const subject = subjectOf(spec.request);
  const wanted = nameText(nodeSubject(exam.nodeName));
  const ok = spec.signerName === KUBE_APISERVER_CLIENT_KUBELET && subject === wanted;
  const why = ok
    ? `${subject}, from ${spec.signerName}`
    : `${subject}, from ${spec.signerName}; a node needs ${wanted}`;
  exam.judge("bootstrap", ok, why);
}

function subjectOf(request: string): string {
  try {
    return nameText(parseCertificateRequestPem(base64Text(request)).subject);
  } catch (error) {
    if (error instanceof DerError) return error.message;
    throw error;
  }
}

async function examineRotation(exam: Exam, readyMs: number): Promise<void> {
  const { certificateMs = 0 } = exam.level;
  const endMs = readyMs + certificateMs + 10_000;
  await exam.pass(Math.max(0, endMs - exam.now));
  const later = certificateRequests(exam, /^system:node:/).filter(({ body }) => isClient(body));
  const accepted = await exam.until(
    15_000,
    () => exam.requests({ resource: "leases", fromMs: endMs, isAccepted: true })[0],
  );
  const seen = `${counted(later.length, "request")} for a new certificate in ${certificateMs / 1000} s, the life of the first`;
  const isFine = later.length >= 1 && later.length <= MAX_REQUESTS && accepted !== undefined;
  const why = accepted === undefined ? `${seen}; after its end, no renewal of the Lease was accepted` : seen;
  exam.judge("rotation", isFine, why, isFine ? [] : exam.linesOf(later));
}

function isClient(body: unknown): boolean {
  return (body as Partial<CertificateSigningRequest> | undefined)?.spec?.signerName === KUBE_APISERVER_CLIENT_KUBELET;
}

async function examineStatic(exam: Exam): Promise<void> {
  const name = `${STATIC}-${exam.nodeName}`;
  const isMirror = (pod: V1Pod) => pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  const started = await exam.until(FILE_MS, () => startsOf(exam, name)[0] ?? startsOf(exam, STATIC)[0]);
  if (started === undefined) {
    exam.judge("static-pod", false, `no container of the manifest was started within ${FILE_MS / 1000} s`);
    for (const id of ["mirror-pod", "mirror-quiet"]) exam.judge(id, false, "the static pod never ran");
    return;
  }
  const first = await untilPod(exam, name, (pod) => isMirror(pod) && pod.status?.phase === "Running", FILE_MS);
  if (first === undefined) {
    const seen = await readPod(exam, name);
    exam.judge("mirror-pod", false, `mirror pod ${name}: ${podText(seen)}`);
    return;
  }
  await exam.remove(podPath(name), { gracePeriodSeconds: 0 });
  const isNew = (pod: V1Pod) => isMirror(pod) && pod.metadata.uid !== first.metadata.uid;
  const second = await untilPod(exam, name, isNew, MIRROR_MS);
  const starts = startsOf(exam, name);
  if (second === undefined) {
    const lines = exam.linesOf(exam.requests({ resource: "pods", verb: "create delete" }));
    exam.judge("mirror-pod", false, `mirror pod ${name} did not come back after its deletion`, lines);
  } else if (starts.length > 1) {
    const why = "the container of the static pod was restarted because its mirror pod was deleted";
    exam.judge("mirror-pod", false, why, exam.changeLines(starts));
  } else exam.judge("mirror-pod", true, `mirror pod ${name} came back after its deletion; its container kept running`);
}

async function examineRemoval(exam: Exam): Promise<void> {
  const name = `${STATIC}-${exam.nodeName}`;
  await rm(manifestPath(exam), { force: true });
  const created = () => exam.requests({ resource: "pods", verb: "create" });
  const ended = await exam.until(FILE_MS, () => {
    const changes = [...exam.changesOf(`default/${name}`, "main"), ...exam.changesOf(`default/${STATIC}`, "main")];
    return changes.find(({ from }) => from === "running");
  });
  const isGone = await exam.until(FILE_MS, async () => ((await readPod(exam, name)) === undefined ? true : undefined));
  const isFine = ended !== undefined && isGone === true;
  const still = ended === undefined ? "its container still runs" : "its mirror pod is still there";
  const why = isFine
    ? "the static pod ran, and ended when its file went"
    : `${FILE_MS / 1000} s after its file went, ${still}`;
  exam.judge("static-pod", isFine, why);
  if (created().length === 0) {
    return exam.judge("mirror-quiet", "skipped", "not examined: the agent created no mirror pod");
  }
  const isQuiet = created().length <= MAX_MIRRORS;
  const count = `${counted(created().length, "creation")} of pods by the agent, which had one static pod`;
  exam.judge("mirror-quiet", isQuiet, count, isQuiet ? [] : exam.linesOf(created()));
}
