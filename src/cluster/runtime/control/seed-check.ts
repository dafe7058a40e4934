import { RpcError } from "../../../staging/cri/grpc/status.js";
import { invalid } from "../errors.js";
import { parseReference } from "../images/reference.js";
import { containerLogPath } from "../logs/log-path.js";
import type { RuntimeCore } from "../state/core.js";
import type { PodSeed } from "./control.js";

/** Runs the checks that need no sandbox. @throws RpcError InvalidArgument, AlreadyExists */
export function checkPodSeed(core: RuntimeCore, { sandboxId, logDirectory = "", containers }: PodSeed): void {
  const names = new Set<string>();
  const ids = new Set<string>();
  const take = (id: string | undefined) => {
    if (id === undefined) return;
    const isTaken = core.containers.has(id) || core.sandboxes.has(id) || ids.has(id);
    if (isTaken) throw new RpcError("AlreadyExists", `the ID "${id}" is in use`);
    ids.add(id);
  };
  take(sandboxId);
  for (const { name, attempt = 0, image, id, logPath = "" } of containers) {
    if (core.images.find(image) === undefined) parseReference(image);
    containerLogPath(logDirectory, logPath);
    const nameAndAttempt = `${name} ${attempt}`;
    if (names.has(nameAndAttempt)) throw invalid(`two containers are named "${name}" and are attempt ${attempt}`);
    names.add(nameAndAttempt);
    take(id);
  }
}
