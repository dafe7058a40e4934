import { type Command, Option } from "commander";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import {
  createToken,
  deleteToken,
  explainRights,
  explainToken,
  listTokens,
  type TokenDeps,
} from "../../staging/cluster-bootstrap/admin.js";
import {
  DEFAULT_NODE_TOKEN_GROUP,
  parseGroups,
  parseUsages,
  TOKEN_USAGES,
  type TokenUsage,
} from "../../staging/cluster-bootstrap/secret.js";
import { formatToken, generateToken, parseToken, parseTokenId } from "../../staging/cluster-bootstrap/token.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import { withAdministrator } from "../cli/administrator.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, addTargetOptions, durationOption } from "../cli/options.js";
import { tokenTable } from "./token-table.js";

interface CreateOptions extends TargetOptions {
  readonly ttl: number;
  readonly usages: readonly TokenUsage[];
  readonly groups: readonly string[];
  readonly description?: string;
  readonly printJoinCommand?: boolean;
}

/** `kubelab token create | list | delete`: the administrator's first part of TLS bootstrap. */
export function addTokenCommand(token: Command, context: CliContext): void {
  token.description(
    "Bootstrap tokens authenticate a machine that has no certificate yet. A token is a Secret in kube-system; its rights come from the RBAC bindings of its groups.",
  );
  const subcommand = (name: string, description: string) =>
    addTargetOptions(addOutputOptions(token.command(name).description(description)));

  const create = subcommand("create", "create a token and its Secret, print the token")
    .argument("[token]", "the token to store (default: a random one)")
    .addOption(durationOption("--ttl <duration>", "how long it is valid: 90m, 24h; 0: it never expires", "24h"))
    .addOption(
      new Option("--usages <list>", "what the token is valid for")
        .argParser(parseUsages)
        .default(TOKEN_USAGES, TOKEN_USAGES.join(",")),
    )
    .addOption(
      new Option("--groups <list>", "extra groups")
        .argParser(parseGroups)
        .default([DEFAULT_NODE_TOKEN_GROUP], DEFAULT_NODE_TOKEN_GROUP),
    )
    .option("--description <text>", "a description for other administrators")
    .option("--print-join-command", "print the command that joins a node with it")
    .action((text: string | undefined, options: CreateOptions) => runCreate(context, text, options));
  addExamples(
    create,
    "kubelab token create --ttl 90m",
    "kubelab token create --print-join-command",
    "kubelab token create abcdef.0123456789abcdef --description 'for node-7'",
  );
  subcommand("list", "list all tokens, without their secrets").action((options: TargetOptions) =>
    runList(context, options),
  );
  subcommand("delete", "delete a token; nodes that have joined keep their certificates")
    .argument("<token>", "the token, or its ID")
    .action((text: string, options: TargetOptions) => runDelete(context, text, options));
}

async function runCreate(context: CliContext, text: string | undefined, options: CreateOptions): Promise<void> {
  // Usage errors are reported before a cluster is started or changed.
  const token = text === undefined ? generateToken() : parseToken(text);
  await withTokens(context, "token create", options, true, async (deps, target) => {
    const expiration = options.ttl === 0 ? undefined : rfc3339(deps.nowMs + options.ttl);
    const { usages, groups, description } = options;
    await createToken(deps, { token, usages, groups, ...defined({ description, expiration }) });
    explainToken(deps, token, expiration);
    await explainRights(deps, groups);
    const { joinCommandFor } = await import("../../testbed/node/join-plan.js");
    const joinCommand = joinCommandFor(target.admin, token);
    const shown = { expiration: expiration ?? null, usages, groups, description: description ?? null };
    context.print({
      text: options.printJoinCommand === true ? joinCommand : formatToken(token),
      json: { token: formatToken(token), ...shown, joinCommand },
    });
  });
}

async function runList(context: CliContext, options: TargetOptions): Promise<void> {
  await withTokens(context, "token list", options, false, async (deps) => {
    const tokens = await listTokens(deps);
    const text = (say: Say) => (tokens.length === 0 ? say("no tokens") : tokenTable(tokens, say));
    context.print({ text, json: tokens });
  });
}

async function runDelete(context: CliContext, text: string, options: TargetOptions): Promise<void> {
  const tokenId = parseTokenId(text);
  await withTokens(context, "token delete", options, true, async (deps) => {
    await deleteToken(deps, tokenId);
    context.print({ text: `token ${tokenId} deleted`, json: { id: tokenId, deleted: true }, isProse: true });
  });
}

async function withTokens(
  context: CliContext,
  command: string,
  options: TargetOptions,
  writes: boolean,
  body: (deps: TokenDeps, target: Target) => Promise<void>,
): Promise<void> {
  const question = writes ? (target: Target) => `Change tokens of the ${target.description}?` : undefined;
  const asAdministrator = { command, chapter: "token", question };
  await withAdministrator(context, asAdministrator, options, async ({ client, trace, clock }, target) => {
    await body({ client, trace, nowMs: clock.now() }, target);
    if (target.kind !== "embedded" || !writes) return;
    const text = "This control plane ends with this command; `kubelab cluster up` keeps one for several commands.";
    trace.emit({ kind: "note", text }, { actor: "user" });
  });
}
