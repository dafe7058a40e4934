import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import type { Handlers } from "../../../staging/cri/grpc/grpc-server.js";
import type { Image } from "../../../staging/cri/messages/image.js";
import type { IMAGE_SERVICE } from "../../../staging/cri/services.js";
import { invalid } from "../errors.js";
import type { StoredImage } from "../images/image-store.js";
import type { RuntimeCore } from "../state/core.js";
import { writtenBytes } from "../stats/usage.js";

/** The calls of runtime.v1.ImageService. Mirrors containerd's image_*.go. */
export function imageCalls(core: RuntimeCore): Handlers<typeof IMAGE_SERVICE> {
  const select = (name: string | undefined): readonly StoredImage[] => {
    if (name === undefined || name === "") return core.images.list();
    const image = core.images.find(name);
    return image === undefined ? [] : [image];
  };
  return {
    listImages: ({ filter }) => ({ images: select(filter?.image?.image).map(imageMessage) }),
    streamImages: async function* ({ filter }) {
      const images = select(filter?.image?.image).map(imageMessage);
      if (images.length > 0) yield { images };
    },
    imageStatus: ({ image, verbose }) => {
      const found = core.images.find(image?.image ?? "");
      // Not an error: the kubelet asks this way whether it must pull.
      if (found === undefined) return {};
      return { image: imageMessage(found), info: verbose ? { info: imageInfo(found) } : {} };
    },
    pullImage: async ({ image, auth }, { signal }) => {
      const name = image?.image ?? "";
      if (name === "") throw invalid("no image name was given");
      const { imageId } = await core.puller.pull(name, auth, signal);
      core.changes.image(name, "none", "pulled");
      return { imageRef: imageId };
    },
    removeImage: ({ image }) => {
      const name = image?.image ?? "";
      const found = core.images.find(name);
      if (found !== undefined) {
        core.images.remove(found);
        core.changes.image(name, "pulled", "gone");
      }
      return {};
    },
    imageFsInfo: () => {
      const timestamp = core.time.now();
      const fsId = { mountpoint: core.options.rootDir };
      const images = core.images.list();
      const usedBytes = images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const layers = [...core.containers.values()].reduce((sum, container) => sum + writtenBytes(container), 0);
      return {
        imageFilesystems: [{ timestamp, fsId, usedBytes: { value: usedBytes }, inodesUsed: { value: images.length } }],
        containerFilesystems: [
          { timestamp, fsId, usedBytes: { value: layers }, inodesUsed: { value: core.containers.size } },
        ],
      };
    },
  };
}

function imageMessage({
  imageId,
  repoTags,
  repoDigests,
  sizeBytes,
  isPinned,
  definition,
}: StoredImage): Init<typeof Image> {
  const [user = ""] = definition.user.split(":");
  return {
    id: imageId,
    repoTags,
    repoDigests,
    size: sizeBytes,
    // A user is a number or a name, each with its own field; both are empty for root.
    ...(/^\d+$/.test(user) ? { uid: { value: Number(user) } } : user === "" ? {} : { username: user }),
    pinned: isPinned,
  };
}

function imageInfo({ definition }: StoredImage): string {
  const { entrypoint, cmd, env, user, workingDir, stopSignal, ports } = definition;
  return JSON.stringify({
    imageSpec: {
      architecture: "amd64",
      os: "linux",
      config: {
        Entrypoint: entrypoint,
        Cmd: cmd,
        Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
        User: user,
        WorkingDir: workingDir,
        StopSignal: stopSignal,
        ExposedPorts: Object.fromEntries(ports.map(({ port }) => [`${port}/tcp`, {}])),
      },
    },
  });
}
