import { existsSync } from "node:fs";
import { join } from "node:path";
import { socketPathProblem } from "../../../staging/cri/grpc/endpoint.js";
import type { LabPlace } from "../environment/environment.js";

/** The socket of a lab that is played at a prompt, through which commands in its shells act on it. */
export function controlSocket({ programs }: Pick<LabPlace, "programs">): string | undefined {
  const path = join(programs, "lab.sock");
  return socketPathProblem(path) === undefined ? path : undefined;
}

/** The same of another process. @returns undefined if that lab takes no commands */
export function openControlSocket(place: Pick<LabPlace, "programs">): string | undefined {
  const path = controlSocket(place);
  return path !== undefined && existsSync(path) ? path : undefined;
}
