import { resolve } from "node:path";
import { addAbortSignal, PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { CertificateSigningRequest } from "../../apimachinery/api/certificates.js";
import type { CliContext } from "../../cli/context.js";
import type { WaitDeps } from "../../client-go/certificate/wait.js";
import type { KubeClient } from "../../client-go/rest/client.js";
import { createClient } from "../../client-go/rest/create-client.js";
import { prepareRequest, submitRequest } from "../../csr/create.js";
import { type Decision, decide, getCsr } from "../../csr/decide.js";
import { fetchCertificate } from "../../csr/fetch.js";
import { type RequestFiles, requestFiles } from "../../csr/files.js";
import { inspect } from "../../csr/inspect.js";
import { inspectionText } from "../../csr/report.js";
import { type InspectSource, readSourceFile, sourceFromFile, sourceFromObject } from "../../csr/source.js";
import { parseCertificatePem } from "../../pki/certificate.js";
import { KUBE_APISERVER_CLIENT_KUBELET } from "../../pki/signers.js";
import type { Target, TargetOptions } from "../../testbed/target.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { shellWord } from "../../util/shell-word.js";
import { type PlanOptions, planFrom } from "./plan.js";

export interface FileOptions {
  readonly outDir: string;
  readonly prefix: string;
}

export interface CreateOptions extends PlanOptions, FileOptions, TargetOptions {
  readonly dryRun?: boolean;
  readonly print?: boolean;
  readonly approve?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

/** @throws LabError USAGE for a prefix that would lead out of the folder */
function filesFrom(context: CliContext, options: FileOptions): RequestFiles {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  if (options.prefix === "" || /[/\\\u0000-\u001f]/.test(options.prefix)) {
    throw new LabError(
      "USAGE",
      `--prefix ${JSON.stringify(options.prefix)} cannot begin a file's name`,
      "It is a word without slashes; the folder goes with --out-dir.",
    );
  }
  return requestFiles(resolve(context.cwd, options.outDir), options.prefix);
}

/** `csr create`: key and request into files, the object into the cluster; with --approve and --wait all the way. */
export async function runCreate(context: CliContext, options: CreateOptions): Promise<void> {
  const plan = planFrom(options);
  checkSendsNothing(options);
  const files = options.dryRun === true ? undefined : filesFrom(context, options);
  if (files === undefined || options.print === true) {
    const { trace } = context.session(options);
    const { object } = await trace.chapter("csr", () => prepareRequest({ trace }, plan, files));
    const { stringify } = await import("../../util/yaml.js");
    context.print({ text: stringify(object, { lineWidth: 0 }), json: object });
    return;
  }
  await withCluster(context, "csr create", options, true, async (deps, target) => {
    // Checks that the folder is writable before anything is sent.
    const prepared = await prepareRequest(deps, plan, files);
    const created = await submitRequest(deps, prepared, context.signal);
    const name = created.metadata.name ?? "";
    if (options.approve === true) await decide(deps, name, APPROVED, context.signal);
    const isDone = options.wait === true;
    if (isDone) await waitWithProgress(context, deps, created, files, options);
    if (!isDone) whatNext(deps, target, created, options);
    const certificate = isDone ? files.certificate : null;
    context.print({
      text: [name, ...(isDone ? [files.key, files.certificate] : [])].join("\n"),
      json: { name, key: files.key, request: files.request, certificate, signerName: plan.signerName },
    });
  });
}

/** @throws LabError USAGE for flags that act on a request when no request is sent */
function checkSendsNothing({ print, dryRun, approve, wait }: CreateOptions): void {
  const without = print === true ? "--print" : dryRun === true ? "--dry-run" : undefined;
  const other = approve === true ? "--approve" : wait === true ? "--wait" : undefined;
  if (without === undefined || other === undefined) return;
  throw new LabError(
    "USAGE",
    `${without} sends nothing, and ${other} is about what was sent`,
    "Leave out one of them.",
  );
}

function whatNext({ trace }: WaitDeps, target: Target, csr: CertificateSigningRequest, options: CreateOptions): void {
  const name = csr.metadata.name ?? "";
  const approve = `kubelab csr approve ${name}${flagsText(targetFlags(options))}`;
  const fetch = `kubelab csr fetch ${name}${flagsText([...fileFlags(options), ...targetFlags(options)])}`;
  // A kubelet's client certificate is approved by csrapproving, when the requester may ask for it.
  const isApproved = options.approve === true || csr.spec.signerName === KUBE_APISERVER_CLIENT_KUBELET;
  const text =
    target.kind === "embedded"
      ? "This control plane ends with this command, and the CSR with it: say --approve --wait to go all the way, or keep one running with `kubelab cluster up`."
      : `Next:\n${isApproved ? "" : `  ${approve}\n`}  ${fetch}`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** The flags that select the same cluster. */
function targetFlags({ kubeconfig, context, real, cluster }: TargetOptions): string[] {
  return [
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
    ...(context === undefined ? [] : ["--context", context]),
    ...(real === true ? ["--real"] : []),
    ...(cluster === undefined ? [] : ["--cluster", cluster]),
  ];
}

/** The flags that select the same files. */
function fileFlags({ outDir, prefix }: FileOptions): string[] {
  return [...(outDir === "." ? [] : ["--out-dir", outDir]), ...(prefix === "kubelet" ? [] : ["--prefix", prefix])];
}

/** Flags for a command line to paste, with a space before each. */
function flagsText(flags: readonly string[]): string {
  return flags.map((one) => ` ${shellWord(one)}`).join("");
}

const APPROVED: Decision = {
  type: "Approved",
  reason: "KubelabApprove",
  message: "This CSR was approved by kubelab csr approve.",
};
const DENIED: Decision = {
  type: "Denied",
  reason: "KubelabDeny",
  message: "This CSR was denied by kubelab csr deny.",
};

export interface DecideOptions extends TargetOptions {
  readonly reason?: string;
  readonly message?: string;
}

/** `csr approve` and `csr deny`: adds the condition to each CSR. */
export async function runDecide(
  context: CliContext,
  type: Decision["type"],
  names: readonly string[],
  options: DecideOptions,
): Promise<void> {
  const standard = type === "Approved" ? APPROVED : DENIED;
  const { reason = standard.reason, message = standard.message } = options;
  const command = type === "Approved" ? "csr approve" : "csr deny";
  await withCluster(context, command, options, true, async (deps) => {
    const decided: { readonly name: string; readonly condition: string; readonly isNew: boolean }[] = [];
    try {
      for (const name of names) {
        const { isNew } = await decide(deps, name, { type, reason, message }, context.signal);
        decided.push({ name, condition: type, isNew });
      }
    } finally {
      // The decisions before a refused one stay, so they are printed.
      const word = type.toLowerCase();
      const text = decided.map(({ name, isNew }) => `CSR ${name} ${isNew ? word : `was ${word} before`}`).join("\n");
      if (decided.length > 0) context.print({ text, json: decided });
    }
  });
}

export interface FetchOptions extends FileOptions, TargetOptions {
  readonly timeout: number;
}

/** `csr fetch`: waits for the certificate and writes it beside its key. */
export async function runFetch(context: CliContext, name: string, options: FetchOptions): Promise<void> {
  const files = filesFrom(context, options);
  await withCluster(context, "csr fetch", options, false, async (deps) => {
    const csr = await getCsr(deps.client, name, context.signal);
    await waitWithProgress(context, deps, csr, files, options);
    context.print({ text: files.certificate, json: { name, certificate: files.certificate, key: files.key } });
  });
}

async function waitWithProgress(
  context: CliContext,
  deps: WaitDeps,
  csr: CertificateSigningRequest,
  files: RequestFiles,
  options: TargetOptions & { readonly timeout: number },
): Promise<void> {
  const flags = flagsText(targetFlags(options));
  const hints = { timedOut: (name: string) => `Approve it: kubelab csr approve ${name}${flags}` };
  const progress = context.progress(`waiting for the certificate of CSR ${csr.metadata.name}`);
  try {
    await fetchCertificate(deps, csr, files, { timeoutMs: options.timeout, hints }, context.signal);
  } finally {
    progress.stop();
  }
}

export interface InspectOptions extends TargetOptions {
  readonly usages?: readonly string[];
  readonly ca?: string;
}

/** Least columns of the report; a wider terminal gets more. */
const REPORT_WIDTH = 80;

/** `csr inspect`: a file, standard input (`-`) or a CSR object of the cluster, field by field. */
export async function runInspect(context: CliContext, what: string, options: InspectOptions): Promise<void> {
  const ca = options.ca === undefined ? undefined : await readCa(resolve(context.cwd, options.ca));
  const isStdin = what === "-";
  const bytes = isStdin ? await readStdin(context) : await readSourceFile(resolve(context.cwd, what));
  const show = (source: InspectSource, nowMs: number) => {
    const { usages } = options;
    checkFlagsFor(source, options);
    const inspection = inspect(source, {
      nowMs,
      ...defined({ usages, ca }),
    });
    const width = Math.max(REPORT_WIDTH, context.streams.stdout.columns ?? REPORT_WIDTH);
    context.print({ text: inspectionText(inspection, width), json: inspection });
    if (inspection.broken === undefined) return;
    const hint = "What could be read of it is shown above; get the whole file from where it was made.";
    throw new LabError("BAD_FILE", `${inspection.title} is broken: ${inspection.broken}`, hint);
  };
  if (bytes !== undefined) {
    const title = isStdin ? "standard input" : what;
    const session = context.session(options);
    noteFileIsRead(title, session, options);
    return show(await sourceFromFile(bytes, title), session.clock.now());
  }
  if (/\/|\.(pem|csr|crt|cer|der|key|ya?ml|json)$/.test(what)) {
    throw new LabError("BAD_FILE", `there is no file ${what}`, "Name a PEM file, or a CSR of the cluster.");
  }
  await withCluster(context, "csr inspect", options, false, async (deps) => {
    show(sourceFromObject(await getCsr(deps.client, what, context.signal)), deps.clock.now());
  });
}

/** Notes that the flags for a cluster have no effect on a file. */
function noteFileIsRead(title: string, { trace }: { readonly trace: Trace }, options: TargetOptions): void {
  const [flag] = targetFlags(options);
  if (flag === undefined) return;
  const text = `${title} is a local file: ${flag} has no effect.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** @throws LabError USAGE for a flag that does not apply to the input */
function checkFlagsFor({ title, kind }: InspectSource, { ca, usages }: InspectOptions): void {
  if (kind === "request" && ca !== undefined) {
    throw new LabError(
      "USAGE",
      `--ca is for a certificate, and ${title} is a request`,
      "A request is signed by its own key: leave out --ca.",
    );
  }
  if (kind === "certificate" && usages !== undefined) {
    throw new LabError(
      "USAGE",
      `--usages is for a request, and ${title} is a certificate`,
      "A certificate has the usages that it shows: leave out --usages.",
    );
  }
}

async function readStdin({ streams, signal }: CliContext): Promise<Buffer> {
  const input = addAbortSignal(signal, new PassThrough());
  streams.stdin.pipe(input);
  try {
    return await buffer(input);
  } finally {
    streams.stdin.unpipe(input);
    streams.stdin.pause();
  }
}

async function readCa(path: string) {
  const bytes = await readSourceFile(path);
  try {
    return parseCertificatePem(bytes?.toString("utf8") ?? "");
  } catch (cause) {
    const why = bytes === undefined ? "there is no such file" : "it holds no certificate";
    throw new LabError("BAD_FILE", `--ca ${path}: ${why}`, "Name the PEM file of the CA.", { cause });
  }
}

/** Opens the target and the administrator's client, asks before writing to a real cluster, and closes both. */
async function withCluster(
  context: CliContext,
  command: string,
  options: TargetOptions,
  writes: boolean,
  body: (deps: WaitDeps & { readonly client: KubeClient }, target: Target) => Promise<void>,
): Promise<void> {
  await using target = await context.openTarget(command, options);
  if (writes && target.kind === "real") {
    const question = `Write to the ${target.description}?`;
    const agreed = await context.confirm(question, { yes: options.yes === true, flag: "--yes" });
    if (!agreed) {
      throw new LabError(
        "DECLINED",
        "nothing was changed: you did not agree",
        "Say --yes to go on without a question.",
      );
    }
  }
  const { trace, clock } = context.session(options);
  const { random } = context;
  await using client = createClient(target.admin, { trace, clock, random, actor: "user" });
  await trace.chapter("csr", () => body({ client, clock, random, trace }, target));
}
