import { createServer, listen, openSockets, portOf } from "../../staging/server/serve.js";
import { LabError } from "../../util/errors.js";
import { listenProblem } from "../../util/net/listen-problem.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import type { ConfigField } from "../apis/config/fields.js";
import type { HandlerDeps } from "../server/call.js";
import { serveHealthzPort } from "../server/handlers/healthz.js";
import { READ_ONLY_SURFACE } from "../server/routes.js";
import { KubeletServer } from "../server/server.js";

/** Nothing of kubelab can be reached from another machine. */
export const LISTEN_ADDRESS = "127.0.0.1";

/** Which ports the kubelet's servers may choose. */
export interface PortOptions {
  /** 0: free ones, for a machine with several nodes */
  readonly port?: number;
  /** those that must be the configuration's */
  readonly fixedPorts?: readonly ConfigField[];
}

interface PlainServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The servers without TLS: health, and the read-only port if there is one. */
export interface PlainServers {
  /** undefined: off */
  readonly healthzPort: number | undefined;
  readonly readOnlyPort: number | undefined;
  close(): Promise<void>;
}

/**
 * Opens the ports of `healthzPort` and `readOnlyPort`; 0 switches one off.
 *
 * Mirrors run and startKubelet in cmd/kubelet/app/server.go, ListenAndServeKubeletReadOnlyServer.
 * Differs: a port that nothing has asked for is replaced by a free one if it is taken: upstream logs that, and tries again.
 * @throws LabError USAGE when a port that was asked for is taken
 */
export async function openPlainServers(
  deps: HandlerDeps,
  config: KubeletConfiguration,
  options: PortOptions,
): Promise<PlainServers> {
  const { healthzPort, readOnlyPort = 0 } = config;
  const open: PlainServer[] = [];
  const close = async () => {
    await Promise.all(open.map((server) => server.close()));
  };
  const start = async (field: ConfigField, port: number, listenAt: (port: number) => Promise<PlainServer>) => {
    if (port === 0) return undefined;
    const server = await onAPort(field, port, options, listenAt);
    open.push(server);
    return server.port;
  };
  try {
    const healthz = await start("healthzPort", healthzPort, (port) => listenHealthz(deps, port));
    const readOnly = await start("readOnlyPort", readOnlyPort, (port) =>
      KubeletServer.listen(
        { ...deps, surface: READ_ONLY_SURFACE },
        { address: LISTEN_ADDRESS, port, transport: "http" },
      ),
    );
    return { healthzPort: healthz, readOnlyPort: readOnly, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Listens at the port that the configuration has, or at a free one where that is allowed. @throws LabError USAGE */
export async function onAPort<T>(
  field: ConfigField,
  port: number,
  { port: wanted, fixedPorts = [] }: PortOptions,
  listenAt: (port: number) => Promise<T>,
): Promise<T> {
  const isFixed = fixedPorts.includes(field);
  // Port 0 stands for the kubelet's own port; it frees the others too, unless they are named.
  if (wanted === 0 && (field === "port" || !isFixed)) return listenAt(0);
  if (isFixed) return listenAt(port);
  try {
    return await listenAt(port);
  } catch (error) {
    if (error instanceof LabError && error.code === "USAGE") return listenAt(0);
    throw error;
  }
}

const LIMITS = { headersMs: 60_000, requestMs: 60_000, idleMs: 90_000, maxHeaderBytes: 64 * 1024 };

async function listenHealthz({ trace }: HandlerDeps, port: number): Promise<PlainServer> {
  const server = createServer({ tls: "none", ...LIMITS });
  const sockets = openSockets(server, "connection");
  server.on("request", (request, response) => void serveHealthzPort(request, response));
  try {
    await trace.detached(() => listen(server, LISTEN_ADDRESS, port));
  } catch (cause) {
    const message = `the kubelet's health server cannot listen at ${LISTEN_ADDRESS}:${port}: ${listenProblem(cause)}`;
    throw new LabError("USAGE", message, "Choose another healthzPort, or 0 for none.", { cause });
  }
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port: portOf(server), close };
}
