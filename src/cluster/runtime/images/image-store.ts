import { createHash } from "node:crypto";
import type { DirectoryNode } from "../../shell/fs/nodes.js";
import { type ImageDefinition, syntheticDefinition } from "./definition.js";
import { imageEnv } from "./image-env.js";
import { osReleaseOf } from "./os-release.js";
import { formatReference, parseReference, type Reference, repository } from "./reference.js";
import { findDefinition, presentRepository } from "./registry.js";
import { buildRootTree } from "./root-tree.js";

/** A pulled image. */
export interface StoredImage {
  /** digest of its configuration: `sha256:...` */
  readonly imageId: string;
  readonly definition: ImageDefinition;
  /** its /etc/os-release; undefined: it has none */
  readonly osRelease: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  /** protected from image garbage collection */
  readonly isPinned: boolean;
}

/** The content that a registry would store under a name. */
export interface RemoteImage {
  readonly imageId: string;
  readonly digest: string;
  readonly definition: ImageDefinition;
  readonly osRelease: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The content of a reference: always the same for the same name and tag; different tags are different images. */
export function remoteImage(reference: Reference): RemoteImage {
  const described = findDefinition(reference);
  const tag = described?.hasOneContent === true ? "" : (reference.tag ?? reference.digest ?? "");
  const identity = `${presentRepository(reference)}${tag.includes(":") ? "@" : ":"}${tag}`;
  const hash = sha256(identity);
  const definition = described ?? syntheticDefinition(identity, Number.parseInt(hash.slice(0, 8), 16) / 2 ** 32);
  return {
    imageId: `sha256:${sha256(`config ${hash}`)}`,
    digest: reference.digest ?? `sha256:${sha256(`manifest ${hash}`)}`,
    definition,
    osRelease: osReleaseOf(definition, reference.tag),
    env: imageEnv(definition, reference.tag),
  };
}

/** The local images. Mirrors containerd's image store: several names can point to one image. */
export class ImageStore {
  readonly #byId = new Map<string, StoredImage>();
  readonly #idOfName = new Map<string, string>();
  /** by definition and distribution: images share them */
  readonly #trees = new Map<ImageDefinition, Map<string, DirectoryNode>>();

  list(): readonly StoredImage[] {
    return [...this.#byId.values()];
  }

  /** Stores an image under a name and its digest. */
  add(reference: Reference, isPinned = false): StoredImage {
    const { imageId, digest, definition, osRelease, env } = remoteImage(reference);
    const repoDigest = `${repository(reference)}@${digest}`;
    const before = this.#byId.get(imageId);
    const repoTags = reference.tag === undefined ? [] : [formatReference(reference)];
    const image: StoredImage = {
      imageId,
      definition,
      osRelease,
      env,
      repoTags: merge(before?.repoTags, repoTags),
      repoDigests: merge(before?.repoDigests, [repoDigest]),
      sizeBytes: definition.sizeBytes,
      isPinned: isPinned || before?.isPinned === true,
    };
    this.#byId.set(imageId, image);
    for (const name of [...repoTags, repoDigest]) this.#move(name, imageId);
    return image;
  }

  /** A name points to one image; a former image loses it. */
  #move(name: string, imageId: string): void {
    const before = this.#idOfName.get(name);
    this.#idOfName.set(name, imageId);
    const other = before === undefined || before === imageId ? undefined : this.#byId.get(before);
    if (other === undefined) return;
    this.#byId.set(other.imageId, {
      ...other,
      repoTags: other.repoTags.filter((tag) => tag !== name),
      repoDigests: other.repoDigests.filter((digest) => digest !== name),
    });
  }

  /**
   * Finds the image of a name, digest or (shortened) ID. Mirrors containerd's LocalResolve. @returns undefined if it is
   * not present, and for invalid names
   */
  find(nameOrId: string): StoredImage | undefined {
    const id = this.#byId.get(nameOrId) ?? this.#byId.get(`sha256:${nameOrId}`);
    if (id !== undefined || nameOrId.startsWith("sha256:")) return id;
    let name: string;
    try {
      name = formatReference(parseReference(nameOrId));
    } catch {
      return undefined; // no image has an invalid name
    }
    const known = this.#idOfName.get(name);
    if (known !== undefined) return this.#byId.get(known);
    if (!/^[0-9a-f]{6,63}$/.test(nameOrId)) return undefined;
    const begun = this.list().filter(({ imageId }) => imageId.startsWith(`sha256:${nameOrId}`));
    return begun.length === 1 ? begun[0] : undefined;
  }

  /** Removes an image with all its names. */
  remove(image: StoredImage): void {
    this.#byId.delete(image.imageId);
    for (const name of [...image.repoTags, ...image.repoDigests]) this.#idOfName.delete(name);
  }

  /** The image's file system, built for its first container. */
  tree({ definition, osRelease = "" }: StoredImage): DirectoryNode {
    const trees = this.#trees.get(definition) ?? new Map<string, DirectoryNode>();
    this.#trees.set(definition, trees);
    const tree = trees.get(osRelease) ?? buildRootTree(definition, osRelease);
    trees.set(osRelease, tree);
    return tree;
  }
}

function merge(before: readonly string[] | undefined, more: readonly string[]): readonly string[] {
  return [...new Set([...(before ?? []), ...more])];
}
