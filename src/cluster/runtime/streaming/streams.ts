import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { AttachRequest, ExecRequest, PortForwardRequest } from "../../../staging/cri/messages/container-calls.js";
import type { RemoteCommandServerSession } from "../../../staging/streaming/remote-command/session.js";
import { internalErrorStatus } from "../../../staging/streaming/remote-command/status-text.js";
import { invalid, wrongState } from "../errors.js";
import type { Containers } from "../state/containers.js";
import type { RuntimeCore } from "../state/core.js";
import { newId } from "../state/ids.js";
import type { RunningContainer } from "../state/running.js";
import { type StreamConnection, StreamingServer, type StreamKind } from "./server.js";

/** The streams that a client requests. */
type Wanted = Pick<ExecRequest, "tty" | "stdin" | "stdout" | "stderr">;

/**
 * The streams of exec, attach and port-forward: a call validates the request and returns a URL, and the client that
 * connects there is served. Mirrors containerd's container_exec.go, container_attach.go, sandbox_portforward.go.
 */
export class Streams {
  readonly #server: StreamingServer;

  /** @throws LabError USAGE for an address that is not local */
  constructor(
    readonly core: RuntimeCore,
    readonly containers: Containers,
    address: string,
  ) {
    const { clock, trace } = core;
    const onError = (error: unknown) => {
      const message = `a stream failed with an internal error: ${error instanceof Error ? error.message : error}`;
      trace.emit({ kind: "error", message }, { actor: "runtime" });
    };
    this.#server = new StreamingServer({ clock, onError }, { address });
  }

  /** @returns the URL @throws RpcError NotFound, FailedPrecondition, InvalidArgument, ResourceExhausted */
  exec(request: ExecRequest): Promise<string> {
    const { containerId, cmd } = request;
    this.containers.running(this.core.container(containerId));
    const wanted = checkedStreams(request);
    if (cmd.length === 0) throw invalid("no command was given");
    return this.#server.urlFor("exec", async (connection) => {
      const { serveExec } = await import("./exec.js");
      await this.#withClient("exec", containerId, connection, wanted, async (session) => {
        const running = this.#running(containerId);
        const failed = "error executing command in container: failed to exec in container";
        if (typeof running === "string") return session.finish(internalErrorStatus(`${failed}: ${running}`));
        await serveExec(
          session,
          running,
          cmd,
          newId(this.core.random, () => false),
        );
      });
    });
  }

  /** @returns the URL @throws RpcError as `exec` */
  attach(request: AttachRequest): Promise<string> {
    const { containerId } = request;
    this.containers.running(this.core.container(containerId));
    const wanted = checkedStreams(request);
    return this.#server.urlFor("attach", async (connection) => {
      const { serveAttach } = await import("./attach.js");
      await this.#withClient("attach", containerId, connection, wanted, async (session) => {
        const running = this.#running(containerId);
        if (typeof running === "string")
          return session.finish(internalErrorStatus(`error attaching to container: ${running}`));
        await serveAttach(session, this.core.container(containerId), running);
      });
    });
  }

  /** @returns the URL @throws RpcError NotFound, FailedPrecondition, ResourceExhausted */
  portForward({ podSandboxId, port }: PortForwardRequest): Promise<string> {
    const sandbox = this.core.sandbox(podSandboxId);
    if (sandbox.state !== "ready") throw wrongState("sandbox container is not running");
    return this.#server.urlFor("portforward", async (connection) => {
      const [{ acceptPortForward }, { servePortForward }] = await Promise.all([
        import("../../../staging/streaming/port-forward/accept.js"),
        import("./port-forward.js"),
      ]);
      const { request, socket, head } = connection;
      await using session = await acceptPortForward(request, socket, head, { ports: port, clock: this.core.clock });
      this.#report("portforward", sandbox.podName, session.protocol);
      await servePortForward(session, sandbox);
    });
  }

  async #withClient(
    kind: StreamKind,
    containerId: string,
    connection: StreamConnection,
    wanted: Wanted,
    serve: (session: RemoteCommandServerSession) => Promise<void>,
  ): Promise<void> {
    const { acceptRemoteCommand } = await import("../../../staging/streaming/remote-command/accept.js");
    const { request, socket, head } = connection;
    const accept = { options: wanted, clock: this.core.clock };
    await using session = await acceptRemoteCommand(request, socket, head, accept);
    this.#report(kind, containerId, session.protocol);
    await serve(session);
  }

  /** The running container, or the reason why nothing can run in it. */
  #running(containerId: string): RunningContainer | string {
    try {
      return this.containers.running(this.core.container(containerId));
    } catch (error) {
      if (error instanceof RpcError) return error.message;
      throw error;
    }
  }

  #report(kind: StreamKind, what: string, protocol: RemoteCommandServerSession["protocol"]): void {
    if (!this.core.trace.wants(2)) return;
    const text = `a client connected for ${kind} of ${what} over ${protocol.framing} (${protocol.subprotocol || "unnamed"})`;
    this.core.trace.emit({ kind: "note", text }, { actor: "runtime", level: 2 });
  }

  /** Ends the connections of all streams; new ones can be opened. */
  cut(): void {
    this.#server.cut();
  }

  /** Closes all streams. Safe to call twice. */
  close(): Promise<void> {
    return this.#server.close();
  }
}

/** Mirrors pkg/kubelet/cri/streaming/server.go (validateExecRequest). @throws RpcError InvalidArgument */
function checkedStreams({ tty, stdin, stdout, stderr }: Wanted): Wanted {
  if (tty && stderr) throw invalid("tty and stderr cannot both be true");
  if (!stdin && !stdout && !stderr) throw invalid("one of stdin, stdout, or stderr must be set");
  return { tty, stdin, stdout, stderr };
}
