import type { Fact, RequestFact, TraceEvent } from "../../../../src/trace/events.js";
import { PageFacts } from "../page-facts.js";

/** Facts of each chapter as its command records them, without those that the chapter does not read. */

const NODE = { instance: "node-1" };
const SERVER = "https://127.0.0.1:6443";
const FILTERS = "staging/src/k8s.io/apiserver/pkg/endpoints/filters";
const ADMISSION = "staging/src/k8s.io/apiserver/pkg/admission/chain.go";
const REST = "staging/src/k8s.io/apiserver/pkg/registry/rest/create.go";
const ETCD = "staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go";
const WRITERS = "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go";

const decision = (what: string, why: string, file: string, func: string, more: object = {}): Fact => ({
  kind: "decision",
  what,
  why,
  upstream: { file, func },
  ...more,
});
const note = (text: string, file: string, func: string): Fact => ({ kind: "note", text, upstream: { file, func } });
const state = (subject: string, what: string, to: string, from?: string): Fact =>
  from === undefined ? { kind: "state", subject, what, to } : { kind: "state", subject, what, from, to };
const request = (method: string, path: string, identity: string, more: Partial<RequestFact> = {}): Fact => ({
  kind: "request",
  method,
  path,
  server: SERVER,
  identity,
  durationMs: 1,
  auditId: "",
  status: 200,
  ...more,
});
const rpc = (method: string, requestBody: object, durationMs = 1): Fact => ({
  kind: "rpc",
  service: "RuntimeService",
  method,
  endpoint: "unix:///r",
  code: "OK",
  durationMs,
  requestBody,
});

/** Of one chapter: its command's name, and the facts. */
function record(chapter: string, facts: readonly (readonly [TraceEvent["actor"], Fact, object?])[]): TraceEvent[] {
  const all = new PageFacts();
  for (const [actor, fact, more] of facts) all.add(fact, { actor, chapter, ...more });
  return all.events;
}

const WORKERS = "pkg/kubelet/pod_workers.go";
const WEB = { ...NODE, pod: "default/web" };

/** A worker that syncs while three updates come. */
export const podWorkerFacts = (): TraceEvent[] =>
  record("pod-worker", [
    [
      "kubelet",
      note("pass the update of default/web (create) to its worker, which is idle", WORKERS, "UpdatePod"),
      WEB,
    ],
    ["kubelet", state("pod default/web", "worker", "syncing"), WEB],
    ["kubelet", decision("syncPod default/web", "the update for its worker (create)", WORKERS, "managePodLoop"), WEB],
    [
      "kubelet",
      note(
        "keep the update of default/web (sync) in lastUndeliveredWorkUpdate: its worker is busy",
        WORKERS,
        "UpdatePod",
      ),
      WEB,
    ],
    [
      "kubelet",
      decision(
        "merge the update of default/web (reconcile)",
        "its worker is busy; of 3 waiting updates it will get only the newest",
        WORKERS,
        "UpdatePod",
      ),
      WEB,
    ],
    [
      "kubelet",
      note("pass the waiting update of default/web (reconcile) to its worker", WORKERS, "completeWorkQueueNext"),
      WEB,
    ],
    [
      "kubelet",
      decision("syncPod default/web", "the newest of 3 updates for its worker (reconcile)", WORKERS, "managePodLoop"),
      WEB,
    ],
    ["kubelet", note("the worker of default/web is idle: no update waits", WORKERS, "completeWorkQueueNext"), WEB],
  ]);

const CSR = "node-csr-abc";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const BOOTSTRAP = "pkg/controller/certificates";

/** A node joins: token, key, CSR, approval, signature, certificate. */
export const bootstrapFacts = (): TraceEvent[] =>
  record("bootstrap", [
    [
      "user",
      request("POST", "/api/v1/namespaces/kube-system/secrets", "certificate kubernetes-admin", {
        requestBody: { kind: "Secret", metadata: { name: "bootstrap-token-abcdef" } },
      }),
    ],
    ["kubelet", request("GET", "/api/v1/nodes/node-1", "token abcdef.****", { status: 404 }), NODE],
    ["kubelet", state("/n/kubelet.key", "private key", "generated, readable by its owner only"), NODE],
    ["kubelet", request("POST", CSRS, "token abcdef.****", { status: 201 }), NODE],
    ["controller", decision(`CSR ${CSR}: approve`, "it may", `${BOOTSTRAP}/approver/sarapprove.go`, "handle")],
    [
      "controller",
      decision(
        `CSR ${CSR}: sign for kubernetes.io/kube-apiserver-client-kubelet`,
        "all 7 rules hold; subject O=system:nodes, CN=system:node:node-1, valid 2026-01-01T00:00:00Z to 2027-01-01T00:00:00Z (the validity includes 5 minutes of backdating)",
        `${BOOTSTRAP}/signer/signer.go`,
        "handle",
      ),
    ],
    ["kubelet", state("/n/kubelet.pem", "file", "written"), NODE],
    [
      "user",
      request(
        "DELETE",
        "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef",
        "certificate kubernetes-admin",
      ),
    ],
    ["kubelet", request("GET", "/api/v1/nodes/node-1", "certificate system:node:node-1", { status: 404 }), NODE],
  ]);

const STREAMING = { ...NODE, peer: { actor: "runtime" } };
const SERVER_GO = "pkg/kubelet/server/server.go";
const EXEC = "/api/v1/namespaces/default/pods/nettool/exec?command=date&container=nettool&stdout=true";

/** `exec nettool -- date`, from the client to the runtime's streaming server. */
export const execFacts = (): TraceEvent[] =>
  record("exec", [
    ["user", request("POST", EXEC, "certificate kubernetes-admin", { status: 101, auditId: "a1" })],
    [
      "apiserver",
      decision(
        "ask the kubelet: POST https://127.0.0.1:10250/exec/default/nettool/nettool?command=date&output=1",
        "kubernetes-admin may create pods/exec; node node-1 has InternalIP 127.0.0.1",
        "pkg/registry/core/pod/rest/subresources.go",
        "Connect",
        { auditId: "a1" },
      ),
      { peer: { actor: "kubelet", ...NODE } },
    ],
    [
      "kubelet",
      {
        kind: "step",
        title: "Serve POST /exec/default/nettool/nettool",
        upstream: { file: SERVER_GO, func: "getExec" },
      },
      NODE,
    ],
    ["kubelet", rpc("Exec", { containerId: "c1" }), NODE],
    [
      "kubelet",
      decision(
        "connect the streams to http://127.0.0.1:4000/exec/q1****",
        "the runtime serves them there",
        SERVER_GO,
        "proxyStream",
      ),
      STREAMING,
    ],
    [
      "kubelet",
      state("streams of /exec/default/nettool/nettool", "connection", "upgraded to SPDY/3.1, v4.channel.k8s.io"),
      STREAMING,
    ],
    [
      "kubelet",
      state(
        "streams of /exec/default/nettool/nettool",
        "connection",
        "ended: 173 bytes to the runtime, 209 bytes from it",
      ),
      STREAMING,
    ],
  ]);

const MANAGER = "pkg/kubelet/eviction/eviction_manager.go";

/** A node that lacks memory ranks its pods, and evicts the first. */
export const evictionFacts = (): TraceEvent[] =>
  record("node", [
    [
      "kubelet",
      decision(
        "memory.available is below its threshold of 100Mi",
        "75Mi of 1Gi are available, and 100Mi must be; a hard threshold: act at once",
        MANAGER,
        "synchronize",
      ),
      NODE,
    ],
    [
      "kubelet",
      decision("rank 3 pods to reclaim memory", "(by usage above request)", MANAGER, "synchronize", {
        compared: {
          columns: ["pod", "usage", "request", "priority"],
          rows: [
            ["default/mild", "130Mi", "50Mi", "0"],
            ["default/bold", "240Mi", "50Mi", "1000"],
            ["default/steady", "280Mi", "300Mi", "0"],
          ],
        },
      }),
      NODE,
    ],
    [
      "kubelet",
      { ...state("pod default/mild", "is", "evicted"), upstream: { file: MANAGER, func: "evictPod" } } as Fact,
      NODE,
    ],
  ]);

const SCHEDULE_ONE = "pkg/scheduler/schedule_one.go";

/** Two nodes fit, one does not. */
export const schedulerFacts = (): TraceEvent[] =>
  record("journey", [
    ["user", state("Node node-1", "object", "registered")],
    [
      "scheduler",
      decision("default/web goes to node-2", "it has the highest score", SCHEDULE_ONE, "schedulePod", {
        compared: {
          columns: ["node", "NodeName TaintToleration", "NodeAffinity", "ImageLocality", "score"],
          rows: [
            ["node-2", "", "200", "0", "200"],
            ["node-1", "", "0", "50", "50"],
            ["node-3", "TaintToleration: node(s) had untolerated taint {a: b}"],
          ],
        },
      }),
      { pod: "default/web" },
    ],
  ]);

const OWN = { auditId: "r1" };
const PATH = "/api/v1/namespaces/default/pods";

/** A pod is created; with a refusal, a quota forbids it. */
export const requestFacts = (isRefused = false): TraceEvent[] =>
  record("request", [
    [
      "user",
      request("POST", PATH, "certificate kubernetes-admin", { ...OWN, status: isRefused ? 403 : 201, durationMs: 0 }),
    ],
    [
      "apiserver",
      decision(
        "create pods in namespace default, version v1",
        `POST ${PATH}`,
        `${FILTERS}/requestinfo.go`,
        "WithRequestInfo",
        OWN,
      ),
    ],
    [
      "apiserver",
      decision(
        "is kubernetes-admin",
        "client certificate O=system:masters, CN=kubernetes-admin",
        `${FILTERS}/authentication.go`,
        "WithAuthentication",
        OWN,
      ),
    ],
    [
      "apiserver",
      decision(`allow create ${PATH}`, "all rights", `${FILTERS}/authorization.go`, "WithAuthorization", OWN),
    ],
    ...["ServiceAccount", "Priority"].map(
      (plugin) =>
        [
          "apiserver",
          decision(
            `change create of pods default/web by ${plugin}`,
            "the plugin handles CREATE of pods",
            ADMISSION,
            "chainAdmissionHandler.Admit",
            OWN,
          ),
        ] as const,
    ),
    ["apiserver", decision("find Pod web valid", "no field is wrong", REST, "strategy.Validate", OWN)],
    ...(isRefused
      ? ([
          [
            "apiserver",
            decision(
              "refuse create of pods default/web",
              "ResourceQuota: exceeded quota",
              ADMISSION,
              "chainAdmissionHandler.Validate",
              OWN,
            ),
          ],
        ] as const)
      : ([
          [
            "apiserver",
            decision(
              "accept create of pods default/web",
              "asked: LimitRanger",
              ADMISSION,
              "chainAdmissionHandler.Validate",
              OWN,
            ),
          ],
          [
            "apiserver",
            decision(
              "transaction on /registry/pods/default/web: revision 144",
              "if no entry has the key, then keep the object with the next revision, else change nothing",
              ETCD,
              "Create",
              OWN,
            ),
          ],
        ] as const)),
    [
      "apiserver",
      decision(
        `answer ${isRefused ? 403 : 201}: 247 bytes of application/json`,
        "Accept: application/json",
        WRITERS,
        "WriteObjectNegotiated",
        OWN,
      ),
    ],
  ]).map((event) => (event.actor === "apiserver" ? { ...event, causedBy: "0000000000000001" } : event));

const relist = (title: string, ...rows: string[]): Fact => ({
  kind: "table",
  title,
  columns: ["pod", "container", "old", "new"],
  rows: rows.map((row) => row.split("|")),
});

/** No relist has the container of pod old. Another one dies, and a relist hangs for 8 s before it shows it. */
export const plegFacts = (): TraceEvent[] =>
  record("pleg", [
    [
      "kubelet",
      {
        kind: "decision",
        what: "relist every 1 s",
        why: "changes are found by comparing two lists",
        constants: [{ name: "relistThreshold", value: "3 min" }],
      },
      { ...NODE, atMs: 1000 },
    ],
    ["runtime", state("default/web/app", "container", "running", "created"), { ...WEB, atMs: 1500 }],
    [
      "runtime",
      state("default/old/app", "container", "running", "created"),
      { ...NODE, pod: "default/old", atMs: 1600 },
    ],
    ["kubelet", rpc("ListPodSandbox", { filter: {} }), { ...NODE, atMs: 2000 }],
    [
      "kubelet",
      relist("changes since the last relist", "default/web|app a1|non-existent|running"),
      { ...NODE, atMs: 2100 },
    ],
    ["runtime", state("default/web/app", "container", "exited (1, Error)", "running"), { ...WEB, atMs: 2500 }],
    ["kubelet", rpc("ListPodSandbox", { filter: {} }, 8000), { ...NODE, atMs: 11_000 }],
    [
      "kubelet",
      relist("changes since the last relist", "default/web|app a1|running|exited"),
      { ...NODE, atMs: 11_100 },
    ],
  ]);

const LIFECYCLE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";
const GRACE = { constants: [{ name: "nodeMonitorGracePeriod", value: "40 s" }] };
const at = (seconds: number, more: object = {}) => ({
  atMs: Date.parse("2026-01-01T00:00:00Z") + seconds * 1000,
  ...more,
});

/** A second node joins beside one that keeps renewing its Lease. */
export const twoNodesFacts = (): TraceEvent[] =>
  record(
    "lease",
    [
      ["witness", 0],
      ["atlas", 5],
      ["witness", 10],
      ["atlas", 15],
      ["witness", 20],
    ].map(([node, seconds]) => [
      "kubelet",
      state(`Lease ${node}`, "renewTime", `2026-01-01T00:00:${String(seconds).padStart(2, "0")}Z`),
      at(Number(seconds), { instance: node }),
    ]),
  );

/** The last renewal of a node: the request is answered before the kubelet reports the new time. */
export const renewalFacts = (): TraceEvent[] =>
  record("lease", [
    ["kubelet", state("Lease node-1", "renewTime", "2026-01-01T00:00:00Z (created)"), at(0, NODE)],
    [
      "kubelet",
      request(
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1?timeout=10s",
        "certificate",
        {
          requestBody: { kind: "Lease", spec: { renewTime: "2026-01-01T00:00:20.000000Z" } },
        },
      ),
      at(21, NODE),
    ],
    ["kubelet", state("Lease node-1", "renewTime", "2026-01-01T00:00:20.000000Z"), at(22, NODE)],
    [
      "kubelet",
      decision(
        "node-1 falls silent: no more renewals, no more status",
        "by the clock",
        LIFECYCLE,
        "monitorNodeHealth",
        GRACE,
      ),
      at(23, NODE),
    ],
  ]);

/** A node renews its Lease and falls silent; after 40 s it is Unknown and tainted, and a pod leaves. */
export const leaseFacts = (): TraceEvent[] =>
  record("lease", [
    ["kubelet", state("Lease node-1", "renewTime", "2026-01-01T00:00:00Z"), at(0, NODE)],
    [
      "kubelet",
      decision(
        "node-1 falls silent: no more renewals, no more status",
        "the kubelet is silent; now the node lifecycle controller decides, by the clock",
        LIFECYCLE,
        "monitorNodeHealth",
        GRACE,
      ),
      at(10, NODE),
    ],
    [
      "controller",
      decision(
        "keep counting node node-1 as Ready",
        "no heartbeat for 30.1 s, 9.9 s of the grace period left",
        LIFECYCLE,
        "tryUpdateNodeHealth",
        GRACE,
      ),
      at(30),
    ],
    ["controller", state("node node-1", "Ready", "Unknown", "True"), at(41)],
    [
      "controller",
      decision(
        "node node-1: add node.kubernetes.io/unreachable:NoExecute; pods that do not tolerate it are evicted",
        "Ready is Unknown, and it was the node's turn in the queue of the only zone",
        LIFECYCLE,
        "doNoExecuteTaintingPass",
      ),
      at(42),
    ],
    [
      "controller",
      decision(
        "pod default/hasty on node node-1: delete it in 20 s",
        "it tolerates the node's NoExecute taints that long",
        "pkg/controller/nodelifecycle/scheduler/taint_manager.go",
        "processPodOnNode",
      ),
      at(43, { pod: "default/hasty" }),
    ],
    [
      "controller",
      decision(
        "pod default/patient on node node-1: delete it in 300 s",
        "it tolerates the node's NoExecute taints that long",
        "pkg/controller/nodelifecycle/scheduler/taint_manager.go",
        "processPodOnNode",
      ),
      at(43, { pod: "default/patient" }),
    ],
    [
      "controller",
      {
        kind: "event",
        type: "Normal",
        reason: "TaintManagerEviction",
        message: "Marking for deletion Pod default/hasty",
        object: "Pod/hasty",
      },
      at(63, { pod: "default/hasty" }),
    ],
  ]);
