import { request } from "node:http";
import { createInterface } from "node:readline";
import type { LabMessage } from "../../labs/message.js";
import { LabError } from "../../util/errors.js";
import type { LabOperation, LabOutcome } from "./host.js";

/**
 * Asks a lab that runs in the background.
 * @param onMessage called with each message as it comes
 * @returns undefined: nobody answers there
 * @throws LabError FAILED with the lab's own words
 */
export async function askHost(
  socketPath: string,
  operation: LabOperation,
  onMessage: (message: LabMessage) => void,
  signal: AbortSignal,
): Promise<(LabOutcome & { kind: "outcome" }) | undefined> {
  const response = await new Promise<NodeJS.ReadableStream | undefined>((resolve, reject) => {
    const call = request({ socketPath, method: "POST", path: "/", signal }, resolve);
    call.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(undefined);
      else reject(error);
    });
    call.end(JSON.stringify(operation));
  });
  if (response === undefined) return undefined;
  for await (const line of createInterface({ input: response })) {
    const message = JSON.parse(line) as LabMessage | LabOutcome;
    if (message.kind === "outcome") return message;
    if (message.kind === "failed") throw new LabError("FAILED", message.message, message.hint);
    onMessage(message);
  }
  throw new LabError("FAILED", "the lab ended before it answered", "Start it anew: kubelab learn start ID");
}
