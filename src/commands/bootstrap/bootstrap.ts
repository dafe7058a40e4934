import { type Command, Option } from "commander";
import type { CertificateStore } from "../../kubelet/certificate/certificate-store.js";
import { type JoinedNode, joinNode, openStore } from "../../testbed/node/join.js";
import { type JoinOptions, joinDefaults, planJoin } from "../../testbed/node/join-plan.js";
import { numberSteps } from "../../trace/story/numbers.js";
import { chapterRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { defined } from "../../util/defined.js";
import type { CliContext, CommandResult } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { openJoinTarget, withBootstrapIdentity } from "../cli/join-target.js";
import {
  addAlias,
  addNodeOptions,
  addOutputOptions,
  addServerOptions,
  addTargetOptions,
  durationOption,
  parseDuration,
} from "../cli/options.js";
import { stay } from "../cli/stay.js";

interface BootstrapCommandOptions extends JoinOptions {
  readonly keep?: boolean;
}

/** `kubelab bootstrap`: TLS bootstrap from a token to a node that is Ready and has renewed its lease. */
export function addBootstrapCommand(command: Command, context: CliContext): void {
  command.description(
    "Joins a node over HTTPS with a bootstrap token and a signed certificate, makes it Ready and renews its Lease once. After an interrupted run, the same command continues.",
  );
  addExamples(
    command,
    "kubelab bootstrap",
    "kubelab bootstrap --node n2 --approve ask --keep",
    "kubelab bootstrap --node n3 --cert-duration 10m --dir ./n3 -v 2",
    "kubelab bootstrap --bootstrap-kubeconfig bootstrap.kubeconfig --node n4",
  );
  const joining = addServerOptions(addNodeOptions(addTargetOptions(addOutputOptions(command))));
  addAlias(joining, "--cert-dir", "--dir")
    .addOption(new Option("--approve <who>", "who approves the CSR").choices(["auto", "ask", "manual"]).default("auto"))
    .addOption(durationOption("--timeout <duration>", "how long to wait for the certificate", "1h"))
    .option("--cert-duration <duration>", "requested lifetime of the certificate (10m or more)", parseDuration)
    .option("--force", "replace the node's certificate even if it is valid, or of another cluster")
    .option("--keep", "stay until Ctrl-C: renew the Lease, report the status, rotate the certificate")
    .option("--insecure-skip-tls-verify", "do not verify the API server: any server can pretend to be it")
    .action((options: BootstrapCommandOptions) => runBootstrap(context, options));
}

async function runBootstrap(context: CliContext, given: BootstrapCommandOptions): Promise<void> {
  const options = await withBootstrapIdentity(context, given);
  const plan = planJoin(options, joinDefaults(context));
  const store = await openStore(plan);
  await using opened = await openJoinTarget(context, "bootstrap", plan, options);
  const { target, clock, trace, kubeVersion } = opened;
  const title = `node ${plan.nodeName} joins`;
  numberSteps(trace, chapterRule(title));
  using _story = tellStory(trace, chapterRule(title));
  await trace.chapter("bootstrap", async () => {
    const node = await joinNode({ context, clock, trace, plan, kubeVersion, target, store });
    await using _agent = node.agent;
    const cluster = target?.description ?? `the cluster at ${node.config.server}`;
    context.print(bootstrapResult(plan.nodeName, node, store, cluster));
    if (options.keep !== true) return;
    trace.emit({ kind: "note", text: "Keeping the node Ready until it is stopped." }, { actor: "user" });
    const keep = defined({ expirationSeconds: plan.expirationSeconds });
    const status = `${plan.nodeName} is kept Ready`;
    await stay(context, { clock, status }, [(signal) => node.agent.keep(store, keep, signal)]);
  });
}

/** The result of `kubelab bootstrap`. @param cluster its description */
function bootstrapResult(nodeName: string, node: JoinedNode, store: CertificateStore, cluster: string): CommandResult {
  const { renewTime, csrName, skippedBootstrap } = node;
  const user = `system:node:${nodeName}`;
  const notAfter = new Date(node.notAfterMs).toISOString().replace(".000", "");
  const text = [
    `node ${nodeName} has joined ${cluster} and is Ready`,
    `  certificate  ${user}, until ${notAfter}${skippedBootstrap ? " (it was there already)" : ""}`,
    ...(csrName === undefined ? [] : [`  request      ${csrName}`]),
    `  lease        renewed ${renewTime}`,
    `  files        ${store.keyPath}`,
    `               ${store.certificatePath}`,
    `               ${store.kubeconfigPath}`,
  ].join("\n");
  const json = {
    node: nodeName,
    server: node.config.server,
    ready: true,
    skippedBootstrap,
    csr: csrName ?? null,
    certificate: { user, notAfter },
    lease: { renewTime },
    files: { key: store.keyPath, certificate: store.certificatePath, kubeconfig: store.kubeconfigPath },
  };
  return { text, json, isProse: true };
}
