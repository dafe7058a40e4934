import { RpcError } from "../../cri/status.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { ImageStore, StoredImage } from "./image-store.js";
import { remoteImage } from "./image-store.js";
import type { PullFault } from "./pull-fault.js";
import { formatReference, parseReference, type Reference } from "./reference.js";

export interface PullOptions {
  /** duration of a pull, in ms */
  readonly pullMs: number;
}

/** Layers are reported one after the other. */
const LAYERS = 4;

/**
 * Simulates pulls, with progress in the trace. Names under the top-level domain `invalid` are unreachable, and names
 * that contain `does-not-exist` or `non-existent` are not found, so that a pod alone can demonstrate ImagePullBackOff.
 */
export class Puller {
  readonly faults = new Map<string, PullFault>();
  readonly #underWay = new Map<string, Promise<StoredImage>>();

  constructor(
    readonly deps: { readonly clock: Clock; readonly trace: Trace; readonly images: ImageStore },
    public options: PullOptions,
  ) {}

  /** @throws RpcError containerd's error for a failing registry; the signal's reason */
  async pull(name: string, signal: AbortSignal): Promise<StoredImage> {
    const reference = parseReference(name);
    const full = formatReference(reference);
    const same = this.#underWay.get(full);
    // Two pods with the same image wait for one pull; if its caller gives up, this one tries again.
    if (same !== undefined) return same.catch(() => this.#fetch(reference, full, signal));
    const pull = this.#fetch(reference, full, signal);
    this.#underWay.set(full, pull);
    try {
      return await pull;
    } finally {
      this.#underWay.delete(full);
    }
  }

  async #fetch(reference: Reference, full: string, signal: AbortSignal): Promise<StoredImage> {
    const { clock, images } = this.deps;
    this.#say(`${full}: resolving`);
    const fault = this.#faultFor(reference, full);
    if (fault !== undefined) throw pullError(fault, reference, full);
    const { definition, digest, imageId } = remoteImage(reference);
    // As containerd does: a layer that the content store has is not fetched again.
    if (images.find(imageId) !== undefined) {
      this.#say(`${full}: ${digest.slice(0, 19)}, all layers exist`);
      return images.add(reference);
    }
    for (let layer = 1; layer <= LAYERS; layer++) {
      await clock.sleep(this.options.pullMs / LAYERS, signal);
      const bytes = Math.floor((definition.sizeBytes * layer) / LAYERS);
      this.#say(`${full}: layer ${layer} of ${LAYERS}, ${megabytes(bytes)} of ${megabytes(definition.sizeBytes)} MB`);
    }
    const image = images.add(reference);
    this.#say(`${full}: pulled, ${digest.slice(0, 19)}`);
    return image;
  }

  #faultFor(reference: Reference, full: string): PullFault["how"] | undefined {
    for (const { image, how } of this.faults.values()) if (full.includes(image)) return how;
    if (/(^|\.)invalid(:\d+)?$/.test(reference.domain)) return "unreachable";
    return /does-not-exist|non-existent/.test(full) ? "not-found" : undefined;
  }

  #say(text: string): void {
    this.deps.trace.emit({ kind: "note", text: `image ${text}` }, { actor: "runtime", level: 2 });
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function pullError(how: PullFault["how"], { domain, path }: Reference, full: string): RpcError {
  const start = `failed to pull and unpack image "${full}": failed to resolve reference "${full}"`;
  switch (how) {
    case "not-found":
      return new RpcError("NotFound", `${start}: ${full}: not found`);
    case "denied":
      return new RpcError(
        "Unknown",
        `${start}: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`,
      );
    case "unreachable":
      return new RpcError(
        "Unknown",
        `${start}: failed to do request: Head "https://${domain}/v2/${path}/manifests": dial tcp: lookup ${domain}: no such host`,
      );
    case "rate-limited":
      return new RpcError("Unknown", `${start}: unexpected status from HEAD request: 429 Too Many Requests`);
  }
}
