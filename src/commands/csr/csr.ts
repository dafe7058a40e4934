import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, addTargetOptions, durationOption, parseDuration, parsePath } from "../cli/options.js";
import { collect, collectDns, collectIps, collectUsages } from "./plan.js";
import {
  type CreateOptions,
  type DecideOptions,
  type FetchOptions,
  type InspectOptions,
  runCreate,
  runDecide,
  runFetch,
  runInspect,
} from "./run.js";

/** `kubelab csr create | inspect | approve | deny | fetch`: gets a certificate step by step. */
export function addCsrCommand(csr: Command, context: CliContext): void {
  csr.description(
    "Gets a certificate step by step and prints how openssl and kubectl do each: key, PKCS#10, base64, object, approval, certificate.",
  );
  const subcommand = (name: string, description: string) =>
    addTargetOptions(addOutputOptions(csr.command(name).description(description)));

  addCreateOptions(subcommand("create", "create a key and a request, send it, print its name")).action(
    (options: CreateOptions) => runCreate(context, options),
  );
  const inspect = subcommand("inspect", "show a request or certificate byte by byte, and which signer would accept it")
    .argument(
      "<file-or-name>",
      "a PEM or DER file, a CSR as YAML, - for standard input, or the name of a CSR",
      parsePath,
    )
    .option("--usages <list>", "check the rules of the signers with these usages", collectUsages)
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
      .option("--reason <word>", "reason of the condition, in CamelCase")
      .option("--message <text>", "message of the condition")
      .action((names: string[], options: DecideOptions) => runDecide(context, type, names, options));
  }
  addFileOptions(
    subcommand(
      "fetch",
      "wait for a certificate, write it (and a client's kubeconfig) next to its key, print the files",
    ),
  )
    .argument("<name>", "name of the CSR")
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
  command
    .option("--node <name>", "for a kubelet: O=system:nodes, CN=system:node:<name>")
    .option("--cn <user>", "for a user (see --org)")
    .option("--org <group>", "a group of the user; several: repeat it, or use commas", collect)
    .option("--subject <text>", "any subject: /O=devs/CN=jane")
    .option("--name <name>", "name of the CSR (default: the server generates one)")
    .option("--signer <name>", "kube-apiserver-client-kubelet, kubelet-serving, kube-apiserver-client, or another")
    .option("--usages <list>", "key usages (default: those that the signer expects)", collectUsages)
    .addOption(new Option("--key-type <type>", "ECDSA P-256, which is the default, or RSA 2048").choices(["ec", "rsa"]))
    .option("--dns <list>", "DNS names for the certificate", collectDns)
    .option("--ip <list>", "IP addresses for the certificate", collectIps)
    .option("--expiration <duration>", "validity of the certificate: 10m, 24h", parseDuration)
    .option("--print", "create key and request, print the CSR as YAML, send nothing")
    .option("--dry-run", "as --print, without writing files")
    .option("--approve", "approve it at once")
    .option("--wait", "wait for the certificate and write it, with a kubeconfig for a client's");
  return addFileOptions(command);
}

function addFileOptions(command: Command): Command {
  return command
    .addOption(durationOption("--timeout <duration>", "how long to wait for approval and signature", "60s"))
    .option("--out-dir <folder>", "folder of kubelet.key, kubelet.csr, kubelet.pem and kubelet.config", parsePath, ".")
    .option("--prefix <word>", "first part of the file names", "kubelet");
}
