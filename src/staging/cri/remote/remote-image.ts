import type { Init } from "../../apimachinery/protobuf/fields.js";
import type { CriChannel } from "../client.js";
import type { RpcResult } from "../grpc/status.js";
import type { AuthConfig, Image, ImageFilter, ImageFsInfoResponse, ImageStatusResponse } from "../messages/image.js";
import type { PodSandboxConfig } from "../messages/sandbox.js";
import type { ImageSpec } from "../messages/values.js";
import { IMAGE_SERVICE } from "../services.js";
import { RUNTIME_REQUEST_TIMEOUT_MS } from "./remote-runtime.js";
import { checked, done, mapped } from "./results.js";

/**
 * The kubelet's client of the ImageService: a method for each call, with the kubelet's deadlines and checks.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_image.go (remoteImageService).
 */
export class RemoteImageService {
  constructor(
    readonly channel: CriChannel,
    readonly timeoutMs = RUNTIME_REQUEST_TIMEOUT_MS,
  ) {}

  async listImages(
    filter: Init<typeof ImageFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly Image[]>> {
    const result = await this.channel.call(IMAGE_SERVICE.listImages, { filter }, this.#deadline(signal));
    return mapped(result, ({ images }) => images);
  }

  /** A response without an image means that the runtime has no image of that name; it is not an error. */
  async imageStatus(
    image: Init<typeof ImageSpec>,
    verbose: boolean,
    signal: AbortSignal,
  ): Promise<RpcResult<ImageStatusResponse>> {
    const result = await this.channel.call(IMAGE_SERVICE.imageStatus, { image, verbose }, this.#deadline(signal));
    return checked(result, ({ image: found }) =>
      found !== undefined && (found.id === "" || found.size === 0n)
        ? `Id or size of image ${JSON.stringify(image.image)} is not set`
        : undefined,
    );
  }

  /**
   * Without a deadline: a large image over a slow connection can take any time.
   * @returns the reference by which the runtime knows the image from now on
   */
  async pullImage(
    image: Init<typeof ImageSpec>,
    auth: Init<typeof AuthConfig> | undefined,
    sandboxConfig: Init<typeof PodSandboxConfig> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<string>> {
    const result = await this.channel.call(IMAGE_SERVICE.pullImage, { image, auth, sandboxConfig }, { signal });
    return checked(
      mapped(result, ({ imageRef }) => imageRef),
      (imageRef) => (imageRef === "" ? `imageRef of image ${JSON.stringify(image.image)} is not set` : undefined),
    );
  }

  async removeImage(image: Init<typeof ImageSpec>, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.channel.call(IMAGE_SERVICE.removeImage, { image }, this.#deadline(signal)));
  }

  /** Without a deadline: measuring file systems takes time. */
  imageFsInfo(signal: AbortSignal): Promise<RpcResult<ImageFsInfoResponse>> {
    return this.channel.call(IMAGE_SERVICE.imageFsInfo, {}, { signal });
  }

  #deadline(signal: AbortSignal) {
    return { timeoutMs: this.timeoutMs, signal };
  }
}
