import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { parseImageName } from "../../staging/apimachinery/image-name.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import { goDuration } from "../../staging/apimachinery/time.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import type { PodSandboxConfig } from "../../staging/cri/messages/sandbox.js";
import type { RemoteImageService } from "../../staging/cri/remote/remote-image.js";
import type { Clock } from "../../util/clock.js";
import { remember } from "../../util/collections/lru.js";
import { factFor } from "../../util/release/facts.js";
import type { PullSecret } from "../container/generic-runtime.js";
import { containerFieldPath } from "../container/helpers.js";
import type { SyncErrorReason } from "../container/sync-result.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { credentialsFor } from "./keyring.js";
import type { ImagePuller } from "./puller.js";

/** pkg/kubelet/kubelet.go (backOffPeriod, MaxContainerBackOff) */
export const IMAGE_BACK_OFF = { initialMs: 10_000, maxMs: 300_000 } as const;

export interface ImageManagerDeps {
  readonly imageService: Pick<RemoteImageService, "imageStatus">;
  readonly puller: ImagePuller;
  readonly recorder: PodEventRecorder;
  readonly backOff: Backoff;
  readonly clock: Clock;
}

export interface ImageRequest {
  readonly pod: V1Pod;
  readonly container: ContainerSpec;
  readonly pullSecrets: readonly PullSecret[];
  readonly sandboxConfig: Init<typeof PodSandboxConfig>;
}

/** The image is present, or why not. */
export type ImageResult =
  | { readonly outcome: "ok"; readonly imageRef: string }
  | { readonly outcome: "failed"; readonly error: SyncErrorReason; readonly message: string };

type Say = (type: "Normal" | "Warning", reason: string, message: string) => void;

/**
 * Ensures that a container's image is on the node, according to its pull policy.
 *
 * Mirrors imageManager in pkg/kubelet/images/image_manager.go (EnsureImageExists, shouldPullImage). No limit of pulls
 * per second (upstream: 5).
 */
export class ImageManager {
  /** why the last pull failed, by the key of its back-off; only for releases that report it */
  readonly #failures = new Map<string, string>();

  /** @param kubeVersion `1.25`: events use that release's words */
  constructor(
    readonly deps: ImageManagerDeps,
    readonly kubeVersion: string,
  ) {}

  async ensureImageExists(request: ImageRequest, signal: AbortSignal): Promise<ImageResult> {
    const { pod, container } = request;
    const { image: written = "", imagePullPolicy } = container;
    const quoted = JSON.stringify(written);
    const fieldPath = containerFieldPath(pod, container);
    const say: Say = (type, reason, message) => this.deps.recorder.event(pod, type, reason, message, { fieldPath });
    const fail = (error: SyncErrorReason, message: string): ImageResult => ({ outcome: "failed", error, message });

    const parsed = parseImageName(written);
    if (parsed.outcome === "invalid") {
      const message = `Failed to apply default image tag ${quoted}: ${parsed.message}`;
      say("Warning", "InspectFailed", message);
      return fail("InvalidImageName", message);
    }
    const { image, domain } = parsed.name;
    const spec = { image, annotations: pod.metadata.annotations ?? {} };
    const status = await this.deps.imageService.imageStatus(spec, false, signal);
    if (status.outcome !== "ok") {
      const message = `Failed to inspect image ${quoted}: ${status.text}`;
      say("Warning", "InspectFailed", message);
      return fail("ImageInspectError", message);
    }
    const present = status.value.image?.id ?? "";
    if (!shouldPullImage(imagePullPolicy, present !== "")) {
      if (present !== "") {
        say("Normal", "Pulled", `Container image ${quoted} already present on machine`);
        return { outcome: "ok", imageRef: present };
      }
      const message = `Container image ${quoted} is not present with pull policy of Never`;
      say("Warning", "ErrImageNeverPull", message);
      return fail("ErrImageNeverPull", message);
    }
    return this.#pull(request, spec, domain, say, signal);
  }

  async #pull(
    { pod, container, pullSecrets, sandboxConfig }: ImageRequest,
    image: { readonly image: string; readonly annotations: Readonly<Record<string, string>> },
    domain: string,
    say: Say,
    signal: AbortSignal,
  ): Promise<ImageResult> {
    const { backOff, clock, puller } = this.deps;
    const written = container.image ?? "";
    const key = `${pod.metadata.uid}_${written}`;
    if (backOff.isInBackOffSinceUpdate(key, clock.now())) {
      const message = `Back-off pulling image ${JSON.stringify(written)}`;
      say("Normal", "BackOff", message);
      const failure = this.#failures.get(key);
      const told = failure === undefined ? message : `${message}: ${failure}`;
      return { outcome: "failed", error: "ImagePullBackOff", message: told };
    }
    this.#failures.delete(key);
    say("Normal", "Pulling", `Pulling image ${JSON.stringify(written)}`);
    const startedMs = clock.now();
    const credentials = credentialsFor(domain, pullSecrets);
    const result = await puller.pull({ image, credentials, sandboxConfig }, signal);
    if (result.outcome !== "ok") {
      // An aborted pull is not a failed pull.
      signal.throwIfAborted();
      say("Warning", "Failed", `Failed to pull image ${JSON.stringify(written)}: ${result.text}`);
      backOff.next(key, clock.now());
      if (factFor("imageBackOffReason", this.kubeVersion))
        remember(this.#failures, key, `ErrImagePull: ${result.text}`);
      // Upstream does so only after a success: on a node whose pulls all fail, old entries would stay.
      backOff.gc();
      return { outcome: "failed", error: "ErrImagePull", message: result.text };
    }
    const { imageRef, pullMs } = result.value;
    const took = await this.#tookText(image, pullMs, clock.now() - startedMs, signal);
    say("Normal", "Pulled", `Successfully pulled image ${JSON.stringify(written)} in ${took}`);
    backOff.gc();
    return { outcome: "ok", imageRef };
  }

  /** How long the pull took; newer releases also report the time with waiting, and the size. */
  async #tookText(
    image: { readonly image: string; readonly annotations: Readonly<Record<string, string>> },
    pullMs: number,
    totalMs: number,
    signal: AbortSignal,
  ): Promise<string> {
    const says = factFor("pulledEvent", this.kubeVersion);
    if (says === "duration") return goDuration(totalMs);
    const times = `${goDuration(pullMs)} (${goDuration(totalMs)} including waiting)`;
    if (says === "also with waiting") return times;
    const status = await this.deps.imageService.imageStatus(image, false, signal);
    // An unknown size is printed as 0, as upstream, which ignores errors of GetImageSize.
    const size = status.outcome === "ok" ? (status.value.image?.size ?? 0n) : 0n;
    return `${times}. Image size: ${size} bytes.`;
  }
}

/** Without a policy, or with an unknown one, nothing is pulled. */
export function shouldPullImage(policy: string | undefined, isPresent: boolean): boolean {
  return policy === "Always" || (policy === "IfNotPresent" && !isPresent);
}
