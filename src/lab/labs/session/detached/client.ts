import { request } from "node:http";
import { createInterface } from "node:readline";
import { LabError } from "../../../../util/errors.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import type { LabMessage } from "../message.js";
import type { LabOperation, LabOutcome } from "./host.js";

export type LabAnswer = LabOutcome & { readonly kind: "outcome" };

/**
 * Sends an operation to a lab that runs in the background.
 * @param onMessage called with each message as it arrives
 * @returns undefined if the lab does not run, or ended before its answer
 * @throws LabError with the lab's message
 */
export async function askHost(
  socketPath: string,
  operation: LabOperation,
  onMessage: (message: LabMessage) => void,
  signal: AbortSignal,
): Promise<LabAnswer | undefined> {
  const response = await new Promise<NodeJS.ReadableStream | undefined>((resolve, reject) => {
    const call = request({ socketPath, method: "POST", path: "/", signal, agent: false }, resolve);
    call.once("error", (error) => {
      if (signal.aborted) reject(error);
      // The lab does not run, or was just killed.
      else resolve(undefined);
    });
    call.end(JSON.stringify(operation));
  });
  if (response === undefined) return undefined;
  let ofListener: unknown;
  const tell = (message: LabMessage) => {
    try {
      onMessage(message);
    } catch (error) {
      ofListener = error;
      throw error;
    }
  };
  try {
    for await (const line of createInterface({ input: response })) {
      const message = JSON.parse(line) as LabMessage | LabOutcome;
      if (message.kind === "outcome") return message;
      if (message.kind === "failed") throw new LocalizedError(message.code, message.message, message.hint);
      tell(message);
    }
  } catch (error) {
    // The lab's end breaks the connection; errors of the listener are its own.
    if (error instanceof LabError || error === ofListener || signal.aborted) throw error;
  }
  signal.throwIfAborted();
  return undefined;
}
