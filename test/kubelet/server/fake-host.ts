import { RuntimeCallError } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import type { LogPiece, PodLogOptions } from "../../../src/kubelet/kuberuntime/logs/options.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import type {
  AttachHostRequest,
  ExecHostRequest,
  KubeletServerHost,
  PortForwardHostRequest,
  RunHostRequest,
} from "../../../src/kubelet/server/host.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { rpcFailure } from "../../../src/staging/cri/grpc/status.js";

/** A pod with a container `c` and an init container `i`. */
export const POD: V1Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "uid-1" },
  spec: { containers: [{ name: "c" }], initContainers: [{ name: "i" }] },
  status: { phase: "Running" },
};

/** A kubelet with one pod and canned answers; it records the calls. */
export class FakeHost implements KubeletServerHost {
  readonly asked: unknown[] = [];
  readonly metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  pods: readonly V1Pod[] = [POD];
  /** what the runtime answers to exec, attach and port-forward */
  streamUrl = "http://127.0.0.1:1/none/token";
  syncLoop: string | undefined;
  log: (signal: AbortSignal) => AsyncIterable<LogPiece> = async function* () {
    yield { stream: "stdout", bytes: Buffer.from("hello\n") };
  };

  getPodByName(namespace: string, name: string): V1Pod | undefined {
    return this.pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  }

  getPods(): readonly V1Pod[] {
    return this.pods;
  }

  async getRunningPods(): Promise<readonly V1Pod[]> {
    return [];
  }

  getKubeletContainerLogs(podFullName: string, container: string, options: PodLogOptions, signal: AbortSignal) {
    this.asked.push({ podFullName, container, options });
    return this.log(signal);
  }

  async getExec(request: ExecHostRequest): Promise<string> {
    return this.#url("exec", request, request.containerName);
  }

  async getAttach(request: AttachHostRequest): Promise<string> {
    return this.#url("attach", request, request.containerName);
  }

  async getPortForward(request: PortForwardHostRequest): Promise<string> {
    return this.#url("portForward", request, request.podName);
  }

  async runInContainer(request: RunHostRequest): Promise<Uint8Array> {
    this.asked.push({ run: request });
    if (request.command[0] === "false") throw new Error("command 'false' exited with 1: ");
    return Buffer.from("output\n");
  }

  syncLoopProblem(): string | undefined {
    return this.syncLoop;
  }

  async cadvisorMetrics(): Promise<string> {
    return "# of cAdvisor\n";
  }

  configz() {
    return { port: 10250 };
  }

  #url(what: string, request: object, name: string): string {
    this.asked.push({ [what]: request });
    if (name === "gone") throw new RuntimeCallError(rpcFailure("NotFound", "no such container"));
    if (name === "busy")
      throw new RuntimeCallError(rpcFailure("ResourceExhausted", "maximum number of in-flight requests exceeded"));
    if (name === "missing") throw new Error('container not found ("missing")');
    return this.streamUrl;
  }
}
