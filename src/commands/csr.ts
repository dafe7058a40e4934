import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, addTargetOptions, parseDuration, parsePath } from "../cli/options.js";
import { collect, collectDns, collectIps, collectUsages } from "./csr/plan.js";
import {
  type CreateOptions,
  type DecideOptions,
  type FetchOptions,
  type InspectOptions,
  runCreate,
  runDecide,
  runFetch,
  runInspect,
} from "./csr/run.js";
import { addExamples } from "./examples.js";

/** `kubelab csr create | inspect | approve | deny | fetch`: how a certificate is asked for, step by step. */
export function addCsrCommand(program: Command, context: CliContext): void {
  const csr = program
    .command("csr")
    .summary("certificate signing requests by hand: create, inspect, approve")
    .description(
      "How a certificate is asked for, by the steps that openssl and kubectl would take: key, PKCS#10, base64, the object, approval, certificate.",
    );
  const subcommand = (name: string, description: string) =>
    addTargetOptions(addOutputOptions(csr.command(name).description(description)));

  addCreateOptions(subcommand("create", "make a key and a request, and send it; prints the object's name")).action(
    (options: CreateOptions) => runCreate(context, options),
  );
  const inspect = subcommand("inspect", "show a request or certificate byte by byte, and which signer would accept it")
    .argument(
      "<file-or-name>",
      "a PEM or DER file, an object's YAML, - for standard input, or the name of a CSR",
      parsePath,
    )
    .addOption(new Option("--usages <list>", "ask the signers with these usages").argParser(collectUsages))
    .option("--ca <file>", "verify a certificate against this CA", parsePath)
    .action((what: string, options: InspectOptions) => runInspect(context, what, options));
  addExamples(
    inspect,
    "kubelab csr inspect kubelet.csr",
    "kubelab csr inspect kubelet.pem --ca ca.pem",
    "kubectl get csr csr-abc12 -o yaml | kubelab csr inspect -",
  );
  for (const [name, type] of [
    ["approve", "Approved"],
    ["deny", "Denied"],
  ] as const) {
    subcommand(name, `${name} requests: a decision is final`)
      .argument("<name...>", "names of CSRs")
      .option("--reason <word>", "for the condition, in CamelCase")
      .option("--message <text>", "for the condition")
      .action((names: string[], options: DecideOptions) => runDecide(context, type, names, options));
  }
  addFileOptions(subcommand("fetch", "wait for a certificate and write it beside its key; prints the file"))
    .argument("<name>", "name of the CSR")
    .addOption(timeoutOption())
    .action((name: string, options: FetchOptions) => runFetch(context, name, options));
}

function addCreateOptions(command: Command): Command {
  addExamples(
    command,
    "kubelab csr create --node n1 --approve --wait",
    "kubelab csr create --cn jane --org devs --prefix jane",
    "kubelab csr create --node n1 --signer kubelet-serving --dns n1 --ip 10.0.0.5",
    "kubelab csr create --cn jane --print | kubectl create -f -",
  );
  return addFileOptions(command)
    .option("--node <name>", "for a kubelet: O=system:nodes, CN=system:node:<name>")
    .option("--cn <user>", "for a user (see --org)")
    .addOption(new Option("--org <group>", "the user's groups; again, or with commas, for several").argParser(collect))
    .option("--subject <text>", "any subject: /O=devs/CN=jane")
    .option("--name <name>", "of the object (default: the server makes one up)")
    .option("--signer <name>", "kube-apiserver-client-kubelet, kubelet-serving, kube-apiserver-client, or another")
    .addOption(new Option("--usages <list>", "default: what the signer wants").argParser(collectUsages))
    .addOption(new Option("--key-type <type>", "ECDSA P-256 or RSA 2048 (default: ec)").choices(["ec", "rsa"]))
    .addOption(new Option("--dns <list>", "DNS names for the certificate").argParser(collectDns))
    .addOption(new Option("--ip <list>", "IP addresses for the certificate").argParser(collectIps))
    .addOption(new Option("--expiration <duration>", "validity of the certificate: 10m, 24h").argParser(parseDuration))
    .option("--print", "make key and request, print the object as YAML, send nothing")
    .option("--dry-run", "as --print, and write no files either")
    .option("--approve", "approve it at once")
    .option("--wait", "wait for the certificate and write it")
    .addOption(timeoutOption());
}

function addFileOptions(command: Command): Command {
  return command
    .option("--out-dir <folder>", "where the files are: kubelet.key (0600), kubelet.csr, kubelet.pem", parsePath, ".")
    .option("--prefix <word>", "file names begin with this", "kubelet");
}

function timeoutOption(): Option {
  return new Option("--timeout <duration>", "how long to wait for approval and signature")
    .argParser(parseDuration)
    .default(60_000, "60s");
}
