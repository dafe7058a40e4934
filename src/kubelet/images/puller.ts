import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { RpcFailure, RpcResult } from "../../staging/cri/grpc/status.js";
import type { AuthConfig } from "../../staging/cri/messages/image.js";
import type { PodSandboxConfig } from "../../staging/cri/messages/sandbox.js";
import type { ImageSpec } from "../../staging/cri/messages/values.js";
import type { RemoteImageService } from "../../staging/cri/remote/remote-image.js";
import { orAborted } from "../../util/async/concurrency.js";
import { Mutex } from "../../util/async/mutex.js";
import type { Clock } from "../../util/clock.js";

export interface PullRequest {
  readonly image: Init<typeof ImageSpec>;
  /** tried in this order; empty: pull without credentials */
  readonly credentials: readonly Init<typeof AuthConfig>[];
  readonly sandboxConfig: Init<typeof PodSandboxConfig>;
}

/** Mirrors pullResult in pkg/kubelet/images/puller.go. */
export interface PulledImage {
  /** the reference by which the runtime knows the image from now on */
  readonly imageRef: string;
  /** ms, without waiting for other pulls */
  readonly pullMs: number;
}

/** Pulls images to the node. Mirrors imagePuller in pkg/kubelet/images/puller.go. */
export interface ImagePuller {
  pull(request: PullRequest, signal: AbortSignal): Promise<RpcResult<PulledImage>>;
}

/** Pulls images in parallel, without a limit. Mirrors parallelImagePuller. */
export class ParallelImagePuller implements ImagePuller {
  constructor(
    readonly imageService: Pick<RemoteImageService, "pullImage">,
    readonly clock: Clock,
  ) {}

  async pull(request: PullRequest, signal: AbortSignal): Promise<RpcResult<PulledImage>> {
    const startedMs = this.clock.now();
    const result = await this.#pull(request, signal);
    if (result.outcome !== "ok") return result;
    return { outcome: "ok", value: { imageRef: result.value, pullMs: this.clock.now() - startedMs } };
  }

  /** Mirrors PullImage in pkg/kubelet/kuberuntime/kuberuntime_image.go. */
  async #pull({ image, credentials, sandboxConfig }: PullRequest, signal: AbortSignal): Promise<RpcResult<string>> {
    if (credentials.length === 0) return this.imageService.pullImage(image, undefined, sandboxConfig, signal);
    const failures: RpcFailure[] = [];
    for (const auth of credentials) {
      const result = await this.imageService.pullImage(image, auth, sandboxConfig, signal);
      if (result.outcome === "ok") return result;
      failures.push(result);
    }
    return aggregate(failures);
  }
}

/** Pulls one image at a time, because all pulls share disk and network. Mirrors serialImagePuller. */
export class SerialImagePuller implements ImagePuller {
  readonly #puller: ParallelImagePuller;
  readonly #mutex = new Mutex();

  constructor(imageService: Pick<RemoteImageService, "pullImage">, clock: Clock) {
    this.#puller = new ParallelImagePuller(imageService, clock);
  }

  pull(request: PullRequest, signal: AbortSignal): Promise<RpcResult<PulledImage>> {
    const turn = this.#mutex.run(async () => {
      // An aborted waiter does not block the queue.
      signal.throwIfAborted();
      return this.#puller.pull(request, signal);
    });
    return orAborted(turn, signal);
  }
}

/** Prints several errors as k8s.io/apimachinery/pkg/util/errors (NewAggregate). */
function aggregate(failures: readonly RpcFailure[]): RpcFailure {
  const [first] = failures;
  const texts = [...new Set(failures.map(({ text }) => text))];
  const text = texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  return { outcome: "failed", code: first?.code ?? "Unknown", message: text, text };
}
