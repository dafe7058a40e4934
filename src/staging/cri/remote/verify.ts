import type { ContainerStatus } from "../messages/container.js";
import type { PodSandboxStatus } from "../messages/sandbox.js";

/** The required fields of a status. */
export type VerifiedSandbox = Pick<PodSandboxStatus, "id" | "metadata" | "createdAt">;
export type VerifiedContainer = Pick<ContainerStatus, "id" | "createdAt" | "imageRef"> & {
  readonly metadata: { readonly name: string } | undefined;
  readonly image: { readonly image: string } | undefined;
};

/**
 * The first missing field of a sandbox's status, in upstream's words; undefined if it is complete.
 * Mirrors pkg/kubelet/cri/remote/utils.go (verifySandboxStatus).
 */
export function verifySandboxStatus(status: VerifiedSandbox): string | undefined {
  const { id, metadata, createdAt } = status;
  if (id === "") return "status.Id is not set";
  if (metadata === undefined) return "status.Metadata is not set";
  if (metadata.name === "" || metadata.namespace === "" || metadata.uid === "") {
    return `metadata.Name, metadata.Namespace or metadata.Uid is not in metadata ${JSON.stringify(metadata)}`;
  }
  return createdAt === 0n ? "status.CreatedAt is not set" : undefined;
}

/** Mirrors pkg/kubelet/cri/remote/utils.go (verifyContainerStatus). */
export function verifyContainerStatus(status: VerifiedContainer): string | undefined {
  const { id, metadata, createdAt, image, imageRef } = status;
  if (id === "") return "status.Id is not set";
  if (metadata === undefined) return "status.Metadata is not set";
  if (metadata.name === "") return `metadata.Name is not in metadata ${JSON.stringify(metadata)}`;
  if (createdAt === 0n) return "status.CreatedAt is not set";
  if (image === undefined || image.image === "") return "status.Image is not set";
  return imageRef === "" ? "status.ImageRef is not set" : undefined;
}
