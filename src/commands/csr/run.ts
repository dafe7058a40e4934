import { resolve } from "node:path";
import type { CertificateSigningRequest } from "../../staging/apimachinery/api/certificates.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { prepareRequest, submitRequest } from "../../staging/csr/create.js";
import { DECISIONS, type Decision, decide, getCsr } from "../../staging/csr/decide.js";
import { fetchCertificate } from "../../staging/csr/fetch.js";
import { type RequestFiles, requestFiles } from "../../staging/csr/files.js";
import { inspect } from "../../staging/csr/inspect.js";
import { writeClientKubeconfig } from "../../staging/csr/kubeconfig.js";
import { inspectionText } from "../../staging/csr/report.js";
import { type InspectSource, readCa, readSource, sourceFromBytes, sourceFromObject } from "../../staging/csr/source.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { readAtMost } from "../../util/os/read-at-most.js";
import { withAdministrator } from "../cli/administrator.js";
import type { CliContext } from "../cli/context.js";
import { STDIN, stdinChunks } from "../cli/stdin.js";
import { type FileOptions, flagsText, noteNext, targetFlags } from "./next.js";
import { type PlanOptions, planFrom } from "./plan.js";

export interface CreateOptions extends PlanOptions, FileOptions, TargetOptions {
  readonly dryRun?: boolean;
  readonly print?: boolean;
  readonly approve?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

const CHAPTER = "csr";
const question = (target: Target) => `Write to the ${target.description}?`;

function filesFrom(context: CliContext, { outDir, prefix }: FileOptions): RequestFiles {
  return requestFiles(resolve(context.cwd, outDir), prefix);
}

/** `csr create`: writes key and request to files, and sends the object; with --approve and --wait up to the certificate. */
export async function runCreate(context: CliContext, options: CreateOptions): Promise<void> {
  const plan = planFrom(options);
  checkSendsNothing(options);
  const files = options.dryRun === true ? undefined : filesFrom(context, options);
  if (files === undefined || options.print === true) {
    const { trace } = context.session(options);
    const { object } = await trace.chapter(CHAPTER, () => prepareRequest({ trace }, plan, files));
    const { stringify } = await import("../../util/yaml.js");
    context.print({ text: stringify(object, { lineWidth: 0 }), json: object });
    return;
  }
  const command = { command: "csr create", chapter: CHAPTER, question };
  await withAdministrator(context, command, options, async (deps, target) => {
    // Checks that the folder is writable before anything is sent.
    const prepared = await prepareRequest(deps, plan, files);
    const created = await submitRequest(deps, prepared, context.signal);
    const name = created.metadata.name ?? "";
    if (options.approve === true) await decide(deps, name, DECISIONS.Approved, context.signal);
    const isDone = options.wait === true;
    const kubeconfig = isDone ? await waitWithProgress(context, deps, target, created, files, options) : undefined;
    if (!isDone) noteNext(deps.trace, target, created, options);
    const certificate = isDone ? files.certificate : null;
    context.print({
      text: [name, ...(isDone ? [files.key, files.certificate] : []), ...oneOrNone(kubeconfig)].join("\n"),
      json: {
        ...{ name, key: files.key, request: files.request, certificate, signerName: plan.signerName },
        ...defined({ kubeconfig }),
      },
    });
  });
}

/** @throws LabError USAGE for flags that act on a request when no request is sent */
function checkSendsNothing({ print, dryRun, approve, wait }: CreateOptions): void {
  const without = print === true ? "--print" : dryRun === true ? "--dry-run" : undefined;
  const other = approve === true ? "--approve" : wait === true ? "--wait" : undefined;
  if (without === undefined || other === undefined) return;
  throw new LabError("USAGE", `${without} sends no request, but ${other} needs one`, "Leave out one of them.");
}

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
  const { reason, message } = options;
  const decision = { ...DECISIONS[type], ...defined({ reason, message }) };
  const command = { command: type === "Approved" ? "csr approve" : "csr deny", chapter: CHAPTER, question };
  await withAdministrator(context, command, options, async (deps) => {
    const decided: { readonly name: string; readonly condition: string; readonly isNew: boolean }[] = [];
    try {
      for (const name of names) {
        const { isNew } = await decide(deps, name, decision, context.signal);
        decided.push({ name, condition: type, isNew });
      }
    } finally {
      // The decisions before a refused one stay, so they are printed.
      const wordsOf = ({ name, isNew }: (typeof decided)[number]) =>
        type === "Approved"
          ? `CSR ${name} ${isNew ? "approved" : "was approved before"}`
          : `CSR ${name} ${isNew ? "denied" : "was denied before"}`;
      const text = decided.map((one) => wordsOf(one)).join("\n");
      if (decided.length > 0) context.print({ text, json: decided, isProse: true });
    }
  });
}

export interface FetchOptions extends FileOptions, TargetOptions {
  readonly timeout: number;
}

/** `csr fetch`: waits for the certificate and writes it, and a client's kubeconfig, next to its key. */
export async function runFetch(context: CliContext, name: string, options: FetchOptions): Promise<void> {
  const files = filesFrom(context, options);
  await withAdministrator(context, { command: "csr fetch", chapter: CHAPTER }, options, async (deps, target) => {
    const csr = await getCsr(deps.client, name, context.signal);
    const kubeconfig = await waitWithProgress(context, deps, target, csr, files, options);
    const json = { name, certificate: files.certificate, key: files.key, ...defined({ kubeconfig }) };
    context.print({ text: [files.certificate, ...oneOrNone(kubeconfig)].join("\n"), json });
  });
}

const oneOrNone = (text: string | undefined) => (text === undefined ? [] : [text]);

/** @returns the path of the kubeconfig that goes with the certificate */
async function waitWithProgress(
  context: CliContext,
  deps: ClientCtx,
  target: Target,
  csr: CertificateSigningRequest,
  files: RequestFiles,
  options: TargetOptions & { readonly timeout: number },
): Promise<string | undefined> {
  const flags = flagsText(targetFlags(options));
  const hints = { timedOut: (name: string) => `Approve it: kubelab csr approve ${name}${flags}` };
  using _line = context.progress(`waiting for the certificate of CSR ${csr.metadata.name}; Ctrl-C ends it`);
  await fetchCertificate(deps, csr, files, { timeoutMs: options.timeout, hints }, context.signal);
  return writeClientKubeconfig(deps, csr, files, target.admin);
}

export interface InspectOptions extends TargetOptions {
  readonly usages?: readonly string[];
  readonly ca?: string;
}

/** The narrowest report; a wider terminal gets a wider one. */
const REPORT_WIDTH = 80;

/** `csr inspect`: shows a file, standard input (`-`) or a CSR object of the cluster, field by field. */
export async function runInspect(context: CliContext, what: string, options: InspectOptions): Promise<void> {
  const { usages } = options;
  const ca = options.ca === undefined ? undefined : await readCa(resolve(context.cwd, options.ca), context.signal);
  const show = (source: InspectSource, nowMs: number) => {
    const inspection = inspect(source, { nowMs, ...defined({ usages, ca }) });
    const width = Math.max(REPORT_WIDTH, context.streams.stdout.columns ?? REPORT_WIDTH);
    context.print({ text: (say) => inspectionText(inspection, width, say), json: inspection });
    if (inspection.broken === undefined) return;
    const hint = "The readable part is shown above; get the whole file from where it was made.";
    throw new LabError("BAD_FILE", `${inspection.title} is broken: ${inspection.broken}`, hint);
  };
  const source =
    what === STDIN
      ? await sourceFromBytes(await readStdin(context), "standard input")
      : await readSource(resolve(context.cwd, what), what, context.signal);
  if (source !== undefined) {
    const { clock, trace } = context.session(options);
    const [flag] = targetFlags(options);
    const text = `${what === STDIN ? "standard input" : what} is a local file: ${flag} has no effect.`;
    if (flag !== undefined) trace.emit({ kind: "note", text }, { actor: "user" });
    return show(source, clock.now());
  }
  await withAdministrator(context, { command: "csr inspect", chapter: CHAPTER }, options, async (deps) => {
    show(sourceFromObject(await getCsr(deps.client, what, context.signal)), deps.clock.now());
  });
}

async function readStdin(context: CliContext): Promise<Buffer> {
  try {
    return await readAtMost(stdinChunks(context));
  } catch (cause) {
    context.signal.throwIfAborted();
    throw new LabError("BAD_FILE", `cannot read standard input: ${describeFileError(cause)}`, "Pass one PEM file.", {
      cause,
    });
  }
}
