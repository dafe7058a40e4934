import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import type { AuthConfig } from "../../../staging/cri/messages/image.js";
import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import type { ImageStore, StoredImage } from "./image-store.js";
import { remoteImage } from "./image-store.js";
import { pullError, type Refusal } from "./pull-error.js";
import type { PullFault } from "./pull-fault.js";
import { formatReference, parseReference, type Reference } from "./reference.js";
import { refusalOf } from "./registry.js";

export interface PullOptions {
  /** duration of a pull, in ms */
  readonly pullMs: number;
  /** see RuntimeOptions */
  readonly anyImage?: boolean;
}

/** Layers are reported one after the other. */
const LAYERS = 4;

/** Pulls images of the embedded registry, with progress in the trace. */
export class Puller {
  readonly faults = new Map<string, PullFault>();
  readonly #underWay = new Map<string, Promise<StoredImage>>();

  constructor(
    readonly deps: { readonly clock: Clock; readonly trace: Trace; readonly images: ImageStore },
    public options: PullOptions,
  ) {}

  /** @throws RpcError with containerd's error if the registry refuses; the signal's reason */
  async pull(name: string, auth: Init<typeof AuthConfig> | undefined, signal: AbortSignal): Promise<StoredImage> {
    const reference = parseReference(name);
    const full = formatReference(reference);
    this.#say(`${full}: resolving`);
    const refusal = this.#faultOf(full) ?? refusalOf(reference, auth, this.options.anyImage);
    if (refusal !== undefined) throw pullError(refusal, reference);
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
    const { definition, digest, imageId } = remoteImage(reference);
    // As containerd does, skips layers that the content store already has.
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

  #faultOf(full: string): Refusal | undefined {
    for (const { image, how } of this.faults.values()) if (full.includes(image)) return how;
    return undefined;
  }

  #say(text: string): void {
    this.deps.trace.emit({ kind: "note", text: `image ${text}` }, { actor: "runtime", level: 2 });
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
