import { upstreamUrl } from "../../trace/upstream.js";
import type { Task } from "./task.js";

/** Upstream's functions for a task, each with its address. */
export function upstreamLines({ upstream }: Pick<Task, "upstream">): readonly string[] {
  return upstream.map(({ file, func }) => `  ${func}: ${upstreamUrl(file) ?? file}`);
}
