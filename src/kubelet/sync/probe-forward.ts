import { connectPortForward } from "../../staging/client-go/portforward/dialer.js";
import type { ForwardedConnection } from "../../staging/streaming/port-forward/session.js";
import type { Clock } from "../../util/clock.js";
import type { PodCache } from "../container/cache.js";
import type { PodManager } from "../pod/pod-manager.js";
import { resolveStreamUrl } from "../server/stream-url.js";

export interface ProbeForwardDeps {
  /** the URL of a port-forward into the pod at the runtime; it is a secret */
  readonly getUrl: (podUid: string, port: number, signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
}

/**
 * Connects probes to pods through the runtime's PortForward: one session per connection.
 * @returns for PortForwardDialer: throws Error when the runtime has no such pod, or offers no streams
 */
export function forwardToPod(
  deps: ProbeForwardDeps,
): (podUid: string, port: number, signal: AbortSignal) => Promise<ForwardedConnection> {
  return async (podUid, port, signal) => {
    const resolved = resolveStreamUrl(await deps.getUrl(podUid, port, signal));
    if ("problem" in resolved) throw new Error(`the runtime's streaming URL cannot be used: ${resolved.problem}`);
    const answer = await connectPortForward(resolved.url, { clock: deps.clock, protocol: "spdy" }, signal);
    if (answer.outcome === "refused") throw new Error(`the runtime refused the port-forward: ${answer.status}`);
    const { session } = answer;
    try {
      const connection = await session.connect(port);
      return endingWith(connection, () => session.close());
    } catch (error) {
      await session.close();
      throw error;
    }
  };
}

/** The pod of this node with the address, for probes and hooks of other pods. One with the host's network has the host's. */
export function podAt(podCache: PodCache, podManager: PodManager, address: string): string | undefined {
  for (const [podUid, { status }] of podCache.entries()) {
    const isHost = podManager.getPodByUid(podUid)?.spec.hostNetwork === true;
    if (status?.ips.includes(address) === true && !isHost) return podUid;
  }
  return undefined;
}

/** The same connection; closing it also closes the session under it. */
function endingWith(connection: ForwardedConnection, end: () => Promise<void>): ForwardedConnection {
  return new Proxy(connection, {
    get(target, key) {
      if (key === "close") {
        return async () => {
          await target.close();
          await end();
        };
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
