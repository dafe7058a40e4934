import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import { buildContainerId } from "../../../src/kubelet/container/runtime.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { KubeletAuth } from "../../../src/kubelet/server/kubelet-auth.js";
import { KubeletHost } from "../../../src/kubelet/server/kubelet-host.js";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import { SummaryProvider } from "../../../src/kubelet/stats/summary-provider.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import {
  connectRemoteCommand,
  type RemoteCommandProtocol,
} from "../../../src/staging/client-go/remotecommand/connect.js";
import type { ByteReader } from "../../../src/staging/streaming/bytes.js";
import type { RemoteCommandOptions } from "../../../src/staging/streaming/remote-command/session.js";
import { exitCodeOf } from "../../../src/staging/streaming/remote-command/status-text.js";
import { SystemClock } from "../../../src/util/clock.js";
import { containerStatus } from "../../support/container-status.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { recordingTrace } from "../../support/trace.js";
import { type ManagerLab, signal } from "../kuberuntime/lab.js";

const clock = new SystemClock();
const PIPES: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };

/** A kubelet's server before a runtime that has one pod, and a client that may do everything. */
export class Chain implements AsyncDisposable {
  private constructor(
    readonly server: KubeletServer,
    readonly tls: { readonly ca: string; readonly cert: string; readonly key: string },
    readonly pod: V1Pod,
  ) {}

  /** @param pod runs already; its first container prints `begun` and waits */
  static async start(lab: ManagerLab, pod: V1Pod): Promise<Chain> {
    const { trace } = recordingTrace(clock);
    const { containerStatuses } = await lab.status(pod);
    const running: V1Pod = {
      ...pod,
      status: {
        phase: "Running",
        containerStatuses: containerStatuses.map(({ name, containerId }) =>
          containerStatus({
            name,
            containerID: buildContainerId(lab.manager.type, containerId),
            state: { running: {} },
          }),
        ),
      },
    };
    const isIt = (namespace: string, name: string) =>
      namespace === pod.metadata.namespace && name === pod.metadata.name;
    const host = new KubeletHost(
      {
        podManager: { getPods: () => [running], getPodByName: (...it) => (isIt(...it) ? running : undefined) },
        statusManager: { getPodStatus: () => undefined },
        runtime: lab.manager,
        service: lab.client.runtime,
        metrics: new KubeletMetrics({ nodeName: "n1", startMs: 0 }),
        summaryProvider: SummaryProvider.over(lab.client, { clock }, { nodeName: "n1" }),
        clock,
        trace,
        latestLoopEntryMs: () => clock.now(),
      },
      { nodeName: "n1" },
    );
    const ca = await makeAuthority();
    const [serving, admin] = await Promise.all([makeLeaf(ca), makeLeaf(ca, { commonName: "admin" })]);
    const config = setDefaults({ authorization: { mode: "AlwaysAllow" } }, "1.25");
    const options = { nodeName: "n1", clientCaPem: ca.certificatePem, config };
    const auth = new KubeletAuth({ clock, trace }, options);
    const server = await KubeletServer.listen({ host, clock, trace, auth }, { port: 0, transport: { pair: serving } });
    const tls = { ca: ca.certificatePem, cert: admin.certificatePem, key: admin.keyPem };
    return new Chain(server, tls, running);
  }

  path(what: string, container = "app"): string {
    const { namespace, name } = this.pod.metadata;
    return `/${what}/${namespace}/${name}${container === "" ? "" : `/${container}`}`;
  }

  async ask(path: string, method = "GET"): Promise<{ readonly status: number | undefined; readonly text: string }> {
    const response = await this.#open(path, method);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, text: Buffer.concat(chunks).toString() };
  }

  /** Resolves once the pod's container has written something. */
  async untilWritten(): Promise<void> {
    const response = await this.#open(`${this.path("containerLogs")}?follow=true`, "GET");
    for await (const _ of response) return;
    throw new Error("the container has ended and written nothing");
  }

  #open(path: string, method: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request(`${this.server.url}${path}`, { method, agent: false, ...this.tls }, resolve)
        .once("error", reject)
        .end();
    });
  }

  /** @returns what came, and how it ended; or the status that each protocol was refused with */
  async exec(command: readonly string[], protocol: RemoteCommandProtocol, input = "") {
    const query = new URLSearchParams([
      ["input", "1"],
      ["output", "1"],
      ["error", "1"],
    ]);
    for (const word of command) query.append("command", word);
    const url = `${this.server.url}${this.path("exec")}?${query}`;
    const options = { options: PIPES, clock, protocol, tls: this.tls };
    const answer = await connectRemoteCommand(url, options, signal);
    if (answer.outcome === "refused") return [answer.status];
    await using open = answer.session;
    const output = Promise.all([textOf(open.stdout), textOf(open.stderr)]);
    if (input !== "") await open.stdin?.write(Buffer.from(input));
    await open.stdin?.end();
    const [stdout, stderr] = await output;
    return { stdout, stderr, exitCode: exitCodeOf(await open.status) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}

async function textOf(reader: ByteReader | undefined): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
