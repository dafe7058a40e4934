/** A text in both languages of the gallery. */
export interface Words {
  readonly en: string;
  readonly zh: string;
}

/** A pod as a client sends it. */
export interface PodManifest {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
}

/** A story of the gallery: a command that tells it, or the step of a lab whose commands do. */
export interface Story {
  /** the file's name */
  readonly id: string;
  readonly title: Words;
  /** the id of the lab in which one does it oneself; of a lab's story: the lab that is played */
  readonly lab: string;
  /** of a command: its words; `{page}` is where --trace stands, for commands whose last words are another program's */
  readonly argv?: readonly string[];
  /** of a window: its keys, each pressed when the story before it is told */
  readonly keys?: readonly string[];
  /** of a cluster: the pod that is created in it */
  readonly creates?: PodManifest;
  /** a file that the command reads */
  readonly file?: { readonly name: string; readonly text: string };
}

const POD = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - name: nginx
      image: nginx:1.25
`;

/** What a kubelet is, command by command. */
export const COMMANDS: readonly Story[] = [
  {
    id: "bootstrap",
    title: { en: "A node joins a cluster: from a token to Ready", zh: "节点加入集群：从 token 到 Ready" },
    lab: "bootstrap",
    argv: ["bootstrap"],
  },
  {
    id: "journey",
    title: { en: "The life of a pod: from the request to Running", zh: "一个 Pod 的经历：从请求到 Running" },
    lab: "pod-life",
    argv: ["journey"],
  },
  {
    id: "deployment",
    title: {
      en: "A Deployment becomes a ReplicaSet, and that becomes pods",
      zh: "Deployment 变成 ReplicaSet，再变成 Pod",
    },
    lab: "deployment",
    argv: ["journey", "deployment/web"],
  },
  {
    id: "request",
    title: { en: "One request through the API server", zh: "一个请求如何穿过 API server" },
    lab: "request",
    argv: ["request", "-f", "pod.yaml"],
    file: { name: "pod.yaml", text: POD },
  },
  {
    id: "lease",
    title: { en: "A node falls silent: Unknown, tainted, its pods evicted", zh: "节点沉默之后：Unknown、污点、驱逐" },
    lab: "heartbeats",
    argv: ["lease", "--stop-after", "2", "--speed", "10"],
  },
  {
    id: "exec",
    title: { en: "A command in a pod, hop by hop", zh: "在 Pod 里运行一条命令：逐跳来看" },
    lab: "exec",
    argv: ["exec", "{page}", "nettool", "--", "ls", "/"],
  },
  {
    id: "logs",
    title: { en: "A container's log, and where it comes from", zh: "容器的日志，以及它从哪里来" },
    lab: "logs-port-forward",
    argv: ["logs", "nettool"],
  },
  {
    id: "pleg",
    title: { en: "A container dies, and PLEG notices", zh: "容器死去，PLEG 发现了它" },
    lab: "pleg",
    argv: ["pleg"],
    keys: ["k"],
  },
  {
    id: "pod-worker",
    title: { en: "Ten updates merge in the queue of one pod worker", zh: "十次更新在一个 pod worker 的队列里合并" },
    lab: "pod-workers",
    argv: ["pod-worker"],
    keys: ["p", "f"],
  },
  {
    id: "static-pod",
    title: { en: "A file becomes a static pod and a mirror pod", zh: "一个文件变成静态 Pod 和镜像 Pod" },
    lab: "static-pods",
    argv: ["static-pod"],
    keys: ["n"],
  },
  {
    id: "pod-manager",
    title: { en: "Which pods a kubelet should run", zh: "kubelet 应该运行哪些 Pod" },
    lab: "static-pods",
    argv: ["pod-manager"],
    keys: ["n"],
  },
  {
    id: "node",
    title: { en: "A small kubelet joins a cluster and becomes Ready", zh: "一个小 kubelet 加入集群并变为 Ready" },
    lab: "bootstrap",
    argv: ["node", "--port", "0", "--duration", "5s"],
  },
  {
    id: "cluster",
    title: { en: "A pod in a running cluster, as its servers see it", zh: "运行中的集群里的一个 Pod：从服务器一侧看" },
    lab: "pod-life",
    argv: ["cluster", "up", "--nodes", "1"],
    creates: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web" },
      spec: { containers: [{ name: "nginx", image: "nginx:1.25" }] },
    },
  },
  {
    id: "csr",
    title: { en: "A certificate signing request, step by step", zh: "证书签名请求：一步一步" },
    lab: "csr",
    argv: ["csr", "create", "--node", "n1"],
  },
  {
    id: "token",
    title: { en: "A bootstrap token is a Secret", zh: "bootstrap token 就是一个 Secret" },
    lab: "tokens",
    argv: ["token", "create"],
  },
];

/** Labs whose commands tell a story: chapters, then incidents. Their titles are the labs' own. */
export const LABS: readonly string[] = [
  ...["heartbeats", "tokens", "csr", "bootstrap", "pleg", "static-pods", "pod-workers", "exec", "streams"],
  ...["pod-life", "request", "scheduler", "deployment", "crash-loop"],
];
export const INCIDENTS: readonly string[] = ["csr-stuck", "wrong-ca-hash", "lease-name"];
