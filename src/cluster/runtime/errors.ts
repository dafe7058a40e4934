import { RpcError } from "../../staging/cri/grpc/status.js";

/**
 * The errors of calls, by kind.
 *
 * The CRI documentation only requires "an error", and NotFound if something does not exist; containerd answers Unknown
 * to nearly everything else. Differs: a call in the wrong state is FailedPrecondition, a request that is wrong in any
 * state InvalidArgument, a name in use AlreadyExists. The messages follow containerd's.
 */
export const notFound = (what: string, id: string): RpcError =>
  new RpcError("NotFound", `an error occurred when try to find ${what} "${id}": not found`);

export const wrongState = (message: string): RpcError => new RpcError("FailedPrecondition", message);

export const invalid = (message: string): RpcError => new RpcError("InvalidArgument", message);

export const nameTaken = (what: string, name: string, owner: string): RpcError =>
  new RpcError("AlreadyExists", `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${owner}"`);
