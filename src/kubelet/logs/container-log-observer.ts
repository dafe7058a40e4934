import { basename } from "node:path";
import { messageOf } from "../../util/errors.js";
import { KubeletObserver } from "../types/observer.js";

/** Words the facts of log rotation, failures as upstream logs them. */
export class ContainerLogObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/logs/container_log_manager.go";

  notListed(why: string): void {
    this.error(`Failed to rotate container logs: ${why}`, { level: 2 });
  }

  noStatus(id: string, why: string): void {
    this.error(`Failed to get container status of ${id}: ${why}`, { level: 1 });
  }

  notMeasured(id: string, path: string, error: unknown, when: "" | " after reopen" = ""): void {
    this.error(`Failed to stat container log${when} of ${id} (${path}): ${messageOf(error)}`, { level: 1 });
  }

  notReopened(id: string, path: string, error: unknown): void {
    const what = `Container log doesn't exist, reopen container log failed of ${id} (${path})`;
    this.error(`${what}: ${messageOf(error)}`, { level: 1 });
  }

  notRotated(id: string, path: string, error: unknown): void {
    this.error(`Failed to rotate log for container ${id} (${path}): ${messageOf(error)}`, { level: 1 });
  }

  notRenamedBack(rotated: string, error: unknown): void {
    this.error(`Failed to rename ${rotated} back: ${messageOf(error)}`, { level: 1 });
  }

  rotated(
    container: string,
    path: string,
    rotated: string,
    size: number,
    { maxSize, maxFiles }: { readonly maxSize: number; readonly maxFiles: number },
  ): void {
    const what = `rotate the log of ${container}: ${basename(path)} becomes ${basename(rotated)}`;
    const why = `${size} bytes, ${maxSize} are allowed; the runtime opens a new file, and ${maxFiles} files are kept`;
    this.decision(what, why, "rotateLog");
  }
}
