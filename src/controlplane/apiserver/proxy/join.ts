import type { Duplex } from "node:stream";

/** What went through a joint. */
export interface Joined {
  readonly fromClientBytes: number;
  readonly toClientBytes: number;
}

/**
 * Passes bytes on in both directions, unread, until either side is done: then what is under way still arrives, and both
 * are closed. A side that does not take its bytes slows the other one down.
 *
 * Mirrors the end of tryUpgrade in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
 *
 * @param heads what was read already, behind each side's head
 */
export function joinSockets(
  client: Duplex,
  kubelet: Duplex,
  heads: { readonly client: Buffer; readonly kubelet: Buffer },
  signal: AbortSignal,
): Promise<Joined> {
  let fromClientBytes = heads.client.length;
  let toClientBytes = heads.kubelet.length;
  if (heads.kubelet.length > 0) client.write(heads.kubelet);
  if (heads.client.length > 0) kubelet.write(heads.client);
  client.on("data", (bytes: Buffer) => {
    fromClientBytes += bytes.length;
  });
  kubelet.on("data", (bytes: Buffer) => {
    toClientBytes += bytes.length;
  });
  client.pipe(kubelet, { end: false });
  kubelet.pipe(client, { end: false });
  return new Promise((resolve) => {
    let open = 2;
    const abort = () => {
      client.destroy();
      kubelet.destroy();
    };
    const closed = () => {
      open--;
      if (open > 0) return;
      signal.removeEventListener("abort", abort);
      resolve({ fromClientBytes, toClientBytes });
    };
    for (const [one, other] of [
      [client, kubelet],
      [kubelet, client],
    ] as const) {
      // Why it ended is for neither side: both see an end.
      one.on("error", () => one.destroy());
      one.once("end", () => {
        endSoon(other);
        endSoon(one);
      });
      one.once("close", () => {
        endSoon(other);
        closed();
      });
    }
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** Closes once all that was written is out. */
function endSoon(stream: Duplex): void {
  if (stream.destroyed) return;
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
