import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { LabBroken } from "../../labs/actions.js";
import type { LabMessage } from "../../labs/message.js";
import type { LabSession } from "../../labs/session.js";
import { LabError } from "../../util/errors.js";

/** What a learner can ask of a lab that runs in the background. */
export type LabOperation =
  | { readonly op: "present" | "hint" | "solve" | "leave" }
  | { readonly op: "perform"; readonly choice?: string };

/** The last line of an answer. */
export type LabOutcome =
  | { readonly kind: "outcome"; readonly ok: boolean; readonly step: string | null; readonly type: string | null }
  | { readonly kind: "failed"; readonly message: string; readonly hint: string };

/** Where the session's messages go: the one who asks now. */
export interface Speaker {
  emit: (message: LabMessage) => void;
}

const MAX_BODY_BYTES = 4096;

/**
 * Serves one lab on a socket that only its owner may open: operations in, the lab's messages out, a line of JSON each.
 * @returns resolves when the learner has left
 */
export async function hostLab(
  session: LabSession,
  speaker: Speaker,
  { socket, written }: { readonly socket: string; readonly written: () => Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  await rm(socket, { force: true });
  const leave = new AbortController();
  const until = AbortSignal.any([signal, leave.signal]);
  // One after the other: a lab has one learner.
  let turn: Promise<void> = Promise.resolve();
  const server = createServer((request, response) => {
    turn = turn
      .then(() => answer(request, response))
      .catch(() => {
        response.destroy();
      });
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const operation = await readOperation(request);
    speaker.emit = (message) => void response.write(`${JSON.stringify(message)}\n`);
    const outcome = await operate(session, operation, until);
    await written();
    response.end(`${JSON.stringify(outcome)}\n`);
    if (operation.op === "leave" || session.step === undefined) response.once("close", () => leave.abort());
  };
  try {
    await listen(server, socket);
    await new Promise<void>((resolve) => {
      if (until.aborted) resolve();
      until.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(socket, { force: true });
  }
}

async function listen(server: Server, socket: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  await chmod(socket, 0o600);
}

async function operate(session: LabSession, operation: LabOperation, signal: AbortSignal): Promise<LabOutcome> {
  try {
    const ok = await perform(session, operation, signal);
    const { step } = session;
    const type =
      step === undefined ? null : (["do", "predict", "observe", "check"].find((key) => key in step) ?? "read");
    return { kind: "outcome", ok, step: step?.id ?? null, type };
  } catch (error) {
    if (error instanceof LabError) return { kind: "failed", message: error.message, hint: error.hint };
    if (error instanceof LabBroken) {
      return { kind: "failed", message: error.message, hint: "Start the lab anew: kubelab learn reset" };
    }
    throw error;
  }
}

async function perform(session: LabSession, operation: LabOperation, signal: AbortSignal): Promise<boolean> {
  switch (operation.op) {
    case "present":
      session.present();
      return true;
    case "hint":
      return session.hint();
    case "solve":
      return (await session.solve(signal)) && (await session.perform(undefined, signal));
    case "perform":
      return session.perform(operation.choice, signal);
    case "leave":
      return true;
  }
}

async function readOperation(request: IncomingMessage): Promise<LabOperation> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) throw new Error("the operation is too long");
  }
  const value = JSON.parse(text) as LabOperation;
  if (!["present", "hint", "solve", "leave", "perform"].includes(value.op)) throw new Error("no such operation");
  return value;
}
