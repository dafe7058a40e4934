import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { untilAborted } from "../../../../util/async/concurrency.js";
import type { Mutex } from "../../../../util/async/mutex.js";
import { defined } from "../../../../util/defined.js";
import { LabError, type LabErrorCode } from "../../../../util/errors.js";
import { sayIn } from "../../../../util/i18n/catalogue.js";
import { LANGUAGES, type Language } from "../../../../util/i18n/language.js";
import { localized } from "../../../../util/i18n/message-error.js";
import { listenPrivately, readSmallJson } from "../../../../util/net/private-socket.js";
import { type StepType, typeOf } from "../../format/steps.js";
import { LabBroken } from "../actions.js";
import type { LabMessage } from "../message.js";
import type { LabSession } from "../session.js";
import type { Speaker } from "../speaker.js";

/** An operation of a background lab, in the language of the requesting command; default: the language before. */
export type LabOperation = Operation & { readonly language?: Language };

type Operation =
  | { readonly op: "present" | "hint" | "solve" | "leave" | "page" }
  | { readonly op: "ask"; readonly waits: boolean }
  | { readonly op: "perform"; readonly choice?: string }
  | { readonly op: "speed"; readonly factor: number };

const OPERATIONS = ["present", "hint", "solve", "ask", "leave", "perform", "speed", "page"];

/** The last line of an answer. */
export type LabOutcome =
  | {
      readonly kind: "outcome";
      /** undefined: the operation did not apply */
      readonly ok?: boolean;
      /** of the page that was written */
      readonly path?: string;
      /** the current step; null at the lab's end */
      readonly step: string | null;
      readonly type: StepType | null;
      /** time limit of the step's check, in ms of the lab's clock */
      readonly mayTakeMs: number;
    }
  | { readonly kind: "failed"; readonly code: LabErrorCode; readonly message: string; readonly hint: string };

export interface HostOptions {
  /** path of the socket */
  readonly socket: string;
  /** resolves when progress is saved */
  readonly written: () => Promise<void>;
  /** Writes the picture of the step. @returns its path */
  readonly writePicture: () => Promise<string>;
  /** of the lab's start */
  readonly language: Language;
  /** of everything that moves the session */
  readonly turns: Mutex;
  /** for a lab that is played at a prompt, which keeps its language and sees what a client does; undefined: in the background */
  readonly prompt?: { suspend(): Promise<void> };
}

/**
 * Serves one lab on a socket that only its owner can open. Operations come in, messages go out, one line of JSON each.
 * @returns resolves when the learner has left
 */
export async function hostLab(
  session: LabSession,
  speaker: Speaker,
  { socket, written, writePicture, language: first, turns, prompt }: HostOptions,
  signal: AbortSignal,
): Promise<void> {
  let language = first;
  const leave = new AbortController();
  const until = AbortSignal.any([signal, leave.signal]);
  const server = createServer((request, response) => {
    readOperation(request)
      .then((operation) => {
        // A lab has one learner. Leaving does not wait.
        if (operation.op === "leave" && prompt === undefined) return answer(operation, response);
        return turns.run(() => answer(operation, response));
      })
      .catch(() => void response.destroy());
  });
  const answer = async (operation: LabOperation, response: ServerResponse): Promise<void> => {
    // A client that disconnects ends the wait of its operation.
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    await prompt?.suspend();
    language = operation.language ?? (prompt === undefined ? language : first);
    const signals = AbortSignal.any([until, gone.signal]);
    const act = () => operate(session, operation, { writePicture, language }, signals);
    const { reader: atPrompt } = speaker;
    const tell = (message: LabMessage) => {
      response.write(`${JSON.stringify(message)}\n`);
      atPrompt?.(message);
    };
    const outcome = await (operation.op === "leave" ? act() : speaker.during(tell, act));
    await written();
    if (prompt !== undefined) await session.speak(first);
    response.end(`${JSON.stringify(outcome)}\n`);
    if (prompt !== undefined) return;
    if (operation.op === "leave" || session.step === undefined) response.once("close", () => leave.abort());
  };
  await using _listening = await listenPrivately(server, socket);
  await untilAborted(until);
}

async function operate(
  session: LabSession,
  operation: LabOperation,
  { writePicture, language }: Pick<HostOptions, "writePicture" | "language">,
  signal: AbortSignal,
): Promise<LabOutcome> {
  const say = sayIn(language);
  try {
    await session.speak(language);
    const path = operation.op === "page" && session.hasRun ? await writePicture() : undefined;
    const ok = await perform(session, operation, signal);
    const { step } = session;
    const type = step === undefined ? null : typeOf(step);
    const { mayTakeMs } = session;
    return { kind: "outcome", ...defined({ ok, path }), step: step?.id ?? null, type, mayTakeMs };
  } catch (thrown) {
    const error = localized(thrown, say);
    const { id } = session.definition;
    if (error instanceof LabError) {
      return { kind: "failed", code: error.code, message: error.message, hint: error.hint };
    }
    if (error instanceof LabBroken && operation.op === "solve") {
      return { kind: "failed", code: "FAILED", message: error.message, hint: say("solutionInTheWay", { id }) };
    }
    if (error instanceof LabBroken) {
      const message = `${say("labBroken")}: ${error.message}`;
      return { kind: "failed", code: "FAILED", message, hint: say("startAgainHint", { id }) };
    }
    throw thrown;
  }
}

async function perform(
  session: LabSession,
  operation: LabOperation,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  // The last task was done by itself; the client has just seen its verdict, and not yet the next step.
  const isBetween = !session.isPresented && session.step !== undefined;
  if (isBetween && (operation.op === "ask" || operation.op === "solve")) return true;
  if (isBetween && operation.op === "perform" && operation.choice === undefined) return true;
  switch (operation.op) {
    case "present":
      session.present();
      return true;
    case "hint":
      return session.hint();
    case "solve":
      return (await session.solve(signal)) ? session.perform(undefined, signal) : undefined;
    case "ask":
      return session.ask(operation.waits, signal);
    case "perform":
      return session.perform(operation.choice, signal);
    case "speed":
      await session.environment.setSpeed(operation.factor);
      return true;
    case "leave":
    case "page":
      return true;
  }
}

async function readOperation(request: IncomingMessage): Promise<LabOperation> {
  const value = (await readSmallJson(request)) as LabOperation;
  if (!OPERATIONS.includes(value.op)) throw new Error("no such operation");
  if (value.language !== undefined && !LANGUAGES.includes(value.language)) throw new Error("no such language");
  return value;
}
