import { STATUS_CODES } from "node:http";
import { join } from "node:path";
import { pid } from "node:process";
import { loadKubeconfig } from "../../staging/client-go/clientcmd/kubeconfig.js";
import type { AskingHeaders, RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { clockOfServer } from "../../testbed/target/cluster-clock.js";
import { Trace, type TraceSink } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { sayIn } from "../../util/i18n/catalogue.js";
import { languageOf } from "../../util/i18n/language.js";
import { localized, MessageError } from "../../util/i18n/message-error.js";
import { editConfig } from "./cmd/config.js";
import { reportRefusal } from "./errors.js";
import { parseLine, text } from "./flags.js";
import { helpOf } from "./help.js";
import type { KubectlContext, Session } from "./session.js";
import { VERBS } from "./verbs.js";

const FLAGS = Object.fromEntries(Object.entries(VERBS).map(([verb, { flags }]) => [verb, flags]));
/** The API server derives the field manager from it, and labs recognise kubectl's requests by it. */
const USER_AGENT = "kubectl/v1.25.0 (kubelab)";
/** The `-v` from which kubectl prints its requests. */
const REQUESTS_LEVEL = 6;
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
  const help = helpOf(argv, sayIn(languageOf(context.env)));
  if (help !== undefined) return void context.streams.stdout.write(help);
  const line = parseLine(argv, FLAGS);
  const verb = VERBS[line.verb]?.run;
  const named = text(line, "kubeconfig");
  const kubeconfig =
    named === undefined ? context.env["KUBECONFIG"] : join(named.startsWith("/") ? "/" : context.cwd, named);
  if (kubeconfig === undefined || kubeconfig === "") {
    throw new MessageError("USAGE", ["noKubeconfig"], ["noKubeconfigHint"]);
  }
  if (verb === undefined) {
    context.streams.stdout.write(await editConfig(context, line, kubeconfig));
    return;
  }
  const chosen = text(line, "context");
  const { config: found } = await loadKubeconfig(kubeconfig, defined({ context: chosen, signal: context.signal }));
  const token = text(line, "token");
  const asks: RestConfig = token === undefined ? found : { ...found, token };
  const { clock } = context.session({});
  const trace = new Trace(clock, false, context.secrets);
  const print = (said: string) => void context.streams.stdout.write(said);
  const warn = (said: string) => void context.streams.stderr.write(`${said}\n`);
  if (Number(text(line, "v") ?? 0) >= REQUESTS_LEVEL) trace.addSink(requestLines(warn));
  const warned = new Set<string>();
  const warnOnce = (said: string) => {
    if (!warned.has(said)) warn(`Warning: ${said}`);
    warned.add(said);
  };
  const { random } = context;
  const deps = { clock, trace, random, actor: "user", userAgent: USER_AGENT, warn: warnOnce } as const;
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
    clock,
    serverNow: async () => ((await clockOfServer(context.env, found.server)) ?? clock).now(),
    trace,
    userAgent: USER_AGENT,
    kubeconfig,
    namespace: text(line, "namespace") ?? "default",
    signal: context.signal,
    print,
    warn,
  };
  await verb(session, line).catch((error: unknown) => {
    if (!reportRefusal(session, error)) throw error;
  });
}

/**
 * Prints each request as kubectl does from `-v=6` on.
 * Mirrors k8s.io/client-go/transport/round_trippers.go (debuggingRoundTripper).
 */
function requestLines(print: (line: string) => void): TraceSink {
  return {
    level: 2,
    write: (event) => {
      if (event.kind !== "request") return;
      const { method, server, path, status, durationMs, failure } = event;
      const answer = status === undefined ? failure : `${status} ${STATUS_CODES[status] ?? ""}`;
      const at = `I${klogTime(event.atMs)} ${String(pid).padStart(7)} round_trippers.go:553]`;
      print(`${at} ${method} ${server}${path} ${answer} in ${Math.round(durationMs)} milliseconds`);
    },
  };
}

/** `1127 17:07:15.704452`: month, day and time. */
function klogTime(ms: number): string {
  const [date = "", time = ""] = new Date(ms).toISOString().split("T");
  return `${date.slice(5).replace("-", "")} ${time.slice(0, -1)}000`;
}
