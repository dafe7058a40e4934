import { join } from "node:path";
import { loadKubeconfig } from "../client-go/clientcmd/kubeconfig.js";
import type { AskingHeaders, RestConfig } from "../client-go/rest/client.js";
import { createClient } from "../client-go/rest/create-client.js";
import { sayIn } from "../i18n/catalogue.js";
import { languageOf } from "../i18n/language.js";
import { localized, MessageError } from "../i18n/message-error.js";
import { Trace } from "../trace/trace.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";
import { auth, config } from "./access.js";
import { type KubectlLine, parseLine, text, unknown } from "./arguments.js";
import { editConfig } from "./edit-config.js";
import { describe, get } from "./read.js";
import type { KubectlContext, Session } from "./session.js";
import { certificate, cordon, logs, mark, remove, run, taint, writeFiles } from "./write.js";

type Verb = (session: Session, line: KubectlLine) => Promise<string>;

const VERBS: Readonly<Record<string, Verb>> = {
  get,
  describe,
  create: writeFiles,
  apply: writeFiles,
  replace: writeFiles,
  run,
  delete: remove,
  label: (session, line) => mark(session, line, "labels"),
  annotate: (session, line) => mark(session, line, "annotations"),
  taint,
  cordon,
  uncordon: cordon,
  certificate,
  logs,
  auth,
  config,
};

const AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/**
 * The kubectl of labs on machines without one: it supports the lines that labs show, and a little more. It uses the
 * cluster of $KUBECONFIG or --kubeconfig.
 * @throws LabError USAGE for unsupported lines; as the client
 */
export async function runKubectl(context: KubectlContext, argv: readonly string[]): Promise<void> {
  await runLine(context, argv).catch((error: unknown) => {
    throw localized(error, sayIn(languageOf(context.env)));
  });
}

async function runLine(context: KubectlContext, argv: readonly string[]): Promise<void> {
  // `delete` waits by default.
  const line = parseLine(
    argv[0] === "delete" && !argv.some((word) => word.startsWith("--wait")) ? [...argv, "--wait"] : argv,
  );
  if (line.verb === "exec") return execInPod(context, line);
  const verb = VERBS[line.verb];
  if (verb === undefined) throw unknown(line.verb);
  const named = text(line, "kubeconfig");
  const kubeconfig =
    named === undefined ? context.env["KUBECONFIG"] : join(named.startsWith("/") ? "/" : context.cwd, named);
  if (kubeconfig === undefined || kubeconfig === "") {
    throw new MessageError("USAGE", ["noKubeconfig"], ["noKubeconfigHint"]);
  }
  if (line.verb === "config" && line.words[0] !== "view") {
    context.streams.stdout.write(await editConfig(context, line, kubeconfig));
    return;
  }
  const chosen = text(line, "context");
  const { config: found } = await loadKubeconfig(kubeconfig, defined({ context: chosen, signal: context.signal }));
  const token = text(line, "token");
  const asks: RestConfig = token === undefined ? found : { ...found, token };
  const { clock } = context.session({});
  const deps = {
    clock,
    trace: new Trace(clock, false, context.secrets),
    random: context.random,
    actor: "user",
  } as const;
  await using client = createClient(asks, deps);
  const authorize = async (headers: AskingHeaders) => {
    await asks.authorize?.(headers);
    headers["Accept"] = AS_TABLE;
  };
  await using tables = createClient({ ...asks, authorize }, deps);
  const session: Session = {
    context,
    client,
    tables,
    kubeconfig,
    namespace: text(line, "namespace") ?? "default",
    signal: context.signal,
    warn: (said) => context.streams.stderr.write(`${said}\n`),
  };
  context.streams.stdout.write(await verb(session, line).catch(asKubectl));
}

/** Makes every refusal exit with 1, like kubectl. @throws LabError FAILED */
function asKubectl(error: unknown): never {
  if (!(error instanceof LabError) || !["UNAUTHORIZED", "FORBIDDEN", "REFUSED"].includes(error.code)) throw error;
  const isUnknown = error.code === "UNAUTHORIZED";
  const message = isUnknown
    ? "You must be logged in to the server (Unauthorized)"
    : `Error from server: ${error.message}`;
  throw new MessageError("FAILED", { verbatim: message }, [`hint${error.code}`, { hint: error.hint }], {
    cause: error,
  });
}

/** Runs `kubelab exec` without its trace. */
async function execInPod(context: KubectlContext, line: KubectlLine): Promise<void> {
  const container = text(line, "container");
  const words = [
    "exec",
    "-v",
    "0",
    "-n",
    text(line, "namespace") ?? "default",
    ...(container === undefined ? [] : ["-c", container]),
  ];
  const { env, cwd, streams, random, self, signal, program } = context;
  const pod = (line.words[0] ?? "").replace(/^pods?\//, "");
  const code = await program.run([...words, pod, "--", ...line.rest], "kubectl", {
    env,
    cwd,
    streams,
    random,
    self,
    signal,
  });
  if (code !== 0) {
    throw new MessageError("FAILED", { verbatim: `command terminated with exit code ${code}` }, ["seeAbove"]);
  }
}
