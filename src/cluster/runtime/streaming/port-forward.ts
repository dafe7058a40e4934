import type { ForwardedConnection, PortForwardServerSession } from "../../../staging/streaming/port-forward/session.js";
import { NetError } from "../../../util/net/net-error.js";
import type { Connection } from "../../shell/process/ports.js";
import type { Sandbox } from "../state/container.js";
import { fromClient, toClient, whenAborted } from "./pump.js";

const LOOPBACK = "127.0.0.1";

/**
 * Connects a client's streams to ports in a pod's network, until the client is gone.
 *
 * Mirrors containerd's sandbox_portforward_linux.go (portForward) and
 * pkg/kubelet/cri/streaming/portforward/httpstream.go (httpStreamHandler.portForward). Differs: each direction ends by
 * itself; containerd gives the other one a second. A WebSocket's client cannot end a direction, so its session does that.
 */
export async function servePortForward(session: PortForwardServerSession, sandbox: Sandbox): Promise<void> {
  const over = new AbortController();
  const open = new Set<Promise<void>>();
  try {
    for await (const connection of session.connections) {
      const forwarding = forward(connection, sandbox, over.signal).finally(() => open.delete(forwarding));
      open.add(forwarding);
    }
  } finally {
    over.abort();
    await session.close();
    await Promise.allSettled(open);
  }
}

async function forward(client: ForwardedConnection, sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { port } = client;
  const fail = (why: string) => client.fail(`error forwarding port ${port} to pod ${sandbox.sandboxId}, uid : ${why}`);
  if (port < 1 || port > 65_535) return fail(`invalid port ${port}`);
  if (sandbox.state !== "ready") return fail(`network namespace for sandbox "${sandbox.sandboxId}" is closed`);
  let connection: Connection;
  try {
    connection = await sandbox.network.connect({ ip: LOOPBACK, port }, signal);
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    return fail(refusedText(sandbox, port));
  }
  await carry(client, connection, signal);
}

async function carry(client: ForwardedConnection, pod: Connection, signal: AbortSignal): Promise<void> {
  const broken = new AbortController();
  const either = AbortSignal.any([signal, broken.signal]);
  const up = fromClient(client.incoming, (bytes) => pod.outgoing.write(bytes, either), either).finally(() =>
    pod.outgoing.release(),
  );
  const down = toClient(pod.incoming, client, either).then((isAll) => {
    pod.incoming.release();
    if (!isAll) broken.abort();
  });
  const gone = whenAborted(either);
  try {
    await Promise.race([Promise.all([up, down]), gone.aborted]);
    // Ends everything that still waits for the client or the pod.
    await client.close();
    await Promise.all([up, down]);
  } finally {
    broken.abort();
    gone.stop();
    await client.close();
  }
}

/** Go's error for a port without a listener. */
function refusedText({ sandboxId, usesHostNetwork }: Sandbox, port: number): string {
  const namespace = usesHostNetwork ? "host" : `/var/run/netns/cni-${sandboxId.slice(0, 12)}`;
  return `failed to execute portforward in network namespace "${namespace}": failed to connect to localhost:${port} inside namespace "${sandboxId}", IPv4: dial tcp4 127.0.0.1:${port}: connect: connection refused IPv6 dial tcp6: address localhost: no suitable address found `;
}
