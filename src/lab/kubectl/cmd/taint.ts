import type { V1Node, V1Taint } from "@kubernetes/client-node";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { defined } from "../../../util/defined.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { visit } from "../builder.js";
import { isOn, type KubectlLine } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";
import { sendPatch } from "./patch.js";

type Taint = Wire<V1Taint>;

/** `key=value:Effect`, `key:Effect-`, `key-` */
interface TaintSpec extends Pick<Taint, "key" | "value"> {
  readonly effect: string | undefined;
  readonly removes: boolean;
}

/**
 * `taint node N key=value:Effect`, `key:Effect-`, `key-`, also for all nodes or those of a selector.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/taint/taint.go (RunTaint) and utils.go (reorganizeTaints).
 * @throws LabError FAILED if a taint already exists, or the one to remove does not
 */
export async function taint(session: Session, line: KubectlLine): Promise<void> {
  const isSpec = (word: string) => /[=:]|-$/.test(word);
  const specs = line.words.filter(isSpec).map(parseTaint);
  const words = line.words.filter((word) => !isSpec(word));
  const removals = specs.filter(({ removes }) => removes).length;
  if (line.words.length > 0 && specs.length === 0) throw lineError(line.verb, "at least one taint update is required");
  const done = removals === 0 ? "tainted" : removals === specs.length ? "untainted" : "modified";
  await visit(session, line, words, async (info) => {
    const before = (info.object as Wire<V1Node>).spec?.taints ?? [];
    const taints = specs.reduce((taints, spec) => withSpec(taints, spec, info.name, isOn(line, "overwrite")), before);
    await sendPatch(session, line, info, { spec: { taints } }, "application/merge-patch+json", () => done);
  });
}

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Mirrors parseTaint and validateTaintEffect in utils.go. */
function parseTaint(spec: string): TaintSpec {
  const match = /^([^=:]+?)(?:=([^:]*?))?(?::(\w+))?(-)?$/.exec(spec);
  const [, key = "", value, effect, dash] = match ?? [];
  if (match === null || (dash === undefined && effect === undefined)) {
    throw lineError("taint", `invalid taint spec: ${spec}`);
  }
  if (effect !== undefined && !EFFECTS.includes(effect)) {
    throw lineError("taint", `invalid taint effect: ${effect}, unsupported taint effect`);
  }
  return { key, effect, removes: dash !== undefined, ...defined({ value }) };
}

function withSpec(taints: readonly Taint[], spec: TaintSpec, node: string, overwrites: boolean): readonly Taint[] {
  const { key, value, effect = "", removes } = spec;
  const others = taints.filter((one) => one.key !== key || (effect !== "" && one.effect !== effect));
  const isThere = others.length < taints.length;
  if (removes) {
    if (isThere) return others;
    throw failed(`taint "${key}${effect === "" ? "" : `:${effect}`}" not found`);
  }
  if (isThere && !overwrites) {
    throw failed(`node ${node} already has ${key} taint(s) with same effect(s) and --overwrite is false`);
  }
  return [...others, { key, effect, ...defined({ value }) }];
}

function failed(problem: string): MessageError {
  return new MessageError("FAILED", { verbatim: problem }, ["kubectlOverwriteHint"]);
}
