/** Images, and the file systems they are kept on. */

import {
  bool,
  type Decoded,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
  uint64,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { PodSandboxConfig } from "./sandbox.js";
import { ImageSpec, Int64Value, UInt64Value } from "./values.js";

export const ImageFilter = message("ImageFilter", { image: one(1, ImageSpec) });

export const ListImagesRequest = message("ListImagesRequest", { filter: one(1, ImageFilter) });

/** uid or username: the default user of its commands. */
export const Image = message("Image", {
  id: string(1),
  repoTags: strings(2),
  repoDigests: strings(3),
  /** bytes */
  size: uint64(4),
  uid: one(5, Int64Value),
  username: string(6),
  spec: one(7, ImageSpec),
  /** not to be collected when space is short */
  pinned: bool(8),
});
export type Image = Decoded<typeof Image>;

export const ListImagesResponse = message("ListImagesResponse", { images: many(1, Image) });

export const StreamImagesRequest = message("StreamImagesRequest", { filter: one(1, ImageFilter) });

export const StreamImagesResponse = message("StreamImagesResponse", { images: many(1, Image) });

export const ImageStatusRequest = message("ImageStatusRequest", { image: one(1, ImageSpec), verbose: bool(2) });

/** image is undefined if there is no image of that name. */
export const ImageStatusResponse = message("ImageStatusResponse", { image: one(1, Image), info: stringMap(2) });
export type ImageStatusResponse = Decoded<typeof ImageStatusResponse>;

/** All but username and serverAddress are secrets. */
export const AuthConfig = message("AuthConfig", {
  username: string(1),
  password: string(2),
  auth: string(3),
  serverAddress: string(4),
  identityToken: string(5),
  registryToken: string(6),
});

export const PullImageRequest = message("PullImageRequest", {
  image: one(1, ImageSpec),
  auth: one(2, AuthConfig),
  sandboxConfig: one(3, PodSandboxConfig),
});

export const PullImageResponse = message("PullImageResponse", { imageRef: string(1) });

export const RemoveImageRequest = message("RemoveImageRequest", { image: one(1, ImageSpec) });

export const RemoveImageResponse = message("RemoveImageResponse", {});

export const ImageFsInfoRequest = message("ImageFsInfoRequest", {});

export const FilesystemIdentifier = message("FilesystemIdentifier", { mountpoint: string(1) });

export const FilesystemUsage = message("FilesystemUsage", {
  /** nanoseconds */
  timestamp: int64(1),
  fsId: one(2, FilesystemIdentifier),
  usedBytes: one(3, UInt64Value),
  inodesUsed: one(4, UInt64Value),
});

export const ImageFsInfoResponse = message("ImageFsInfoResponse", {
  imageFilesystems: many(1, FilesystemUsage),
  containerFilesystems: many(2, FilesystemUsage),
});
export type ImageFsInfoResponse = Decoded<typeof ImageFsInfoResponse>;
