import { join } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, addTargetOptions, parseDuration, parsePath, targetOptions } from "../cli/options.js";
import type { CertificateStore } from "../kubelet/certificate/certificate-store.js";
import { OLDEST_RELEASE } from "../release/facts.js";
import { type JoinedNode, joinNode, openStore } from "../testbed/join.js";
import { type JoinDefaults, type JoinOptions, type JoinPlan, LAB_TAINT, planJoin } from "../testbed/join-plan.js";
import { releaseOf } from "../testbed/server-release.js";
import { stateFolder } from "../testbed/state-folder.js";
import { defined } from "../util/defined.js";
import { addExamples } from "./examples.js";

interface BootstrapCommandOptions extends JoinOptions {
  readonly keep?: boolean;
}

/** Where folders of nodes are kept: `$KUBELAB_NODES` (a lab has its own), else `$XDG_STATE_HOME/kubelab/nodes`. */
function nodesFolder(env: Readonly<Record<string, string | undefined>>): string {
  const own = env["KUBELAB_NODES"];
  if (own !== undefined && own !== "") return own;
  return join(stateFolder(env), "nodes");
}

/** What `planJoin` wants to know of the process. */
export function joinDefaults({ env, cwd, streams }: CliContext): JoinDefaults {
  return {
    home: nodesFolder(env),
    cwd,
    canAsk: streams.stdin.isTTY === true && streams.stderr.isTTY === true,
    // A lab on the learner's own cluster: its nodes are nobody else's to use.
    ...((env["KUBELAB_LAB_KUBECONFIG"] ?? "") === "" ? {} : { taints: [LAB_TAINT] }),
  };
}

/** The flags of the node itself, for every command that may have to join one. */
export function addNodeOptions(command: Command): Command {
  return command
    .option("--node <name>", "name of the node", "node-1")
    .option("--dir <folder>", "kubelet.key, .pem and .config (default: ~/.local/state/kubelab/nodes/<name>)", parsePath)
    .addOption(new Option("--out-dir <folder>").hideHelp().argParser(parsePath))
    .option("--cpu <quantity>", "capacity that the node claims", "100")
    .option("--memory <quantity>", "capacity that the node claims", "32Gi")
    .option("--pods <number>", "capacity that the node claims", "110")
    .option("--jitter", "renew the lease up to 4 % late by chance, as upstream does");
}

/** `kubelab bootstrap`: TLS bootstrap from a token to a node that is Ready and has renewed its lease. */
export function addBootstrapCommand(program: Command, context: CliContext): void {
  const command = program
    .command("bootstrap")
    .summary("join a node: token, CSR, certificate, registration, first lease")
    .description(
      "Joins a node over HTTPS with a bootstrap token and a signed certificate, makes it Ready and renews its lease once. Run again after a kill, it goes on where it was.",
    );
  addExamples(
    command,
    "kubelab bootstrap",
    "kubelab bootstrap --node n2 --approve ask --keep",
    "kubelab bootstrap --node n3 --cert-duration 10m --dir ./n3 -v 2",
    "kubelab bootstrap --kubeconfig ~/.kube/config --node n4",
  );
  addNodeOptions(addTargetOptions(addOutputOptions(command)))
    .option("--server <url>", "join the cluster at this address, of which nothing else is known")
    .option("--token <token>", "bootstrap token (default: the administrator makes one)")
    .addOption(
      new Option("--ca-cert-hash <hash...>", "sha256:… of the public key of the cluster's CA, for --server").argParser(
        (value: string, list: readonly string[] = []) => [...list, value],
      ),
    )
    .addOption(new Option("--approve <who>", "who approves the CSR").choices(["auto", "ask", "manual"]).default("auto"))
    .addOption(
      new Option("--timeout <duration>", "how long to wait for the certificate")
        .argParser(parseDuration)
        .default(3_600_000, "1h"),
    )
    .addOption(
      new Option("--cert-duration <duration>", "how long a certificate to ask for (10m or more)").argParser(
        parseDuration,
      ),
    )
    .option("--force", "get a new certificate although there is a valid one")
    .option("--keep", "stay: renew the lease, report the status, rotate the certificate")
    .option("--insecure-skip-tls-verify", "do not verify the API server: anybody can pose as it")
    .action((options: BootstrapCommandOptions) => runBootstrap(context, options));
}

async function runBootstrap(context: CliContext, options: BootstrapCommandOptions): Promise<void> {
  const plan = planJoin(options, joinDefaults(context));
  const store = await openStore(plan);
  await using target =
    plan.discovery.kind === "by-target" ? await context.openTarget("bootstrap", targetOptions(options)) : undefined;
  const { clock, trace } = context.session({});
  const deps = { clock, trace, random: context.random };
  if (target === undefined && plan.discovery.kind !== "by-target") {
    trace.emit(
      { kind: "note", text: `kubelab bootstrap on the cluster at ${plan.discovery.server}` },
      { actor: "user" },
    );
  }
  const kubeVersion = target === undefined ? OLDEST_RELEASE : await releaseOf(target, deps);
  await trace.chapter("bootstrap", async () => {
    const node = await joinNode({ context, clock, trace, plan, kubeVersion, target, store });
    await using _agent = node.agent;
    print(context, plan, node, store, target?.description ?? `the cluster at ${node.config.server}`);
    if (options.keep !== true) return;
    trace.emit({ kind: "note", text: "Staying a node until Ctrl-C." }, { actor: "kubelet" });
    const { expirationSeconds } = plan;
    await node.agent.keep(store, defined({ expirationSeconds }), context.signal);
  });
}

function print(context: CliContext, plan: JoinPlan, node: JoinedNode, store: CertificateStore, cluster: string): void {
  const { renewTime } = node;
  const until = new Date(node.notAfterMs).toISOString().replace(".000", "");
  const text = [
    `node ${plan.nodeName} has joined ${cluster} and is Ready`,
    `  certificate  system:node:${plan.nodeName}, until ${until}${node.skippedBootstrap ? " (it was there already)" : ""}`,
    ...(node.csrName === undefined ? [] : [`  request      ${node.csrName}`]),
    `  lease        renewed ${renewTime}`,
    `  files        ${store.keyPath}`,
    `               ${store.certificatePath}`,
    `               ${store.kubeconfigPath}`,
  ].join("\n");
  const json = {
    node: plan.nodeName,
    server: node.config.server,
    ready: true,
    skippedBootstrap: node.skippedBootstrap,
    csr: node.csrName ?? null,
    certificate: { user: `system:node:${plan.nodeName}`, notAfter: until },
    lease: { renewTime },
    files: { key: store.keyPath, certificate: store.certificatePath, kubeconfig: store.kubeconfigPath },
  };
  context.print({ text, json });
}
