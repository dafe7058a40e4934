import type { V1Deployment } from "@kubernetes/client-node";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { type Message, MessageError } from "../../../util/i18n/message-error.js";
import { type Info, visit } from "../builder.js";
import { durationOf, type KubectlLine, text } from "../flags.js";
import { lineError, unknown } from "../line-error.js";
import { replicaSetsOf, revisionOf } from "../replica-sets.js";
import { type KnownResource, nameOf } from "../resources.js";
import type { Session } from "../session.js";
import { alignTabs, DESCRIBE_TABS } from "../tab-writer.js";
import { sendPatch } from "./patch.js";

type Deployment = Wire<V1Deployment>;

const LOOK_AGAIN_MS = 200;

const LACKING_KINDS: readonly string[] = ["DaemonSet", "StatefulSet"];
/** kubectl's words for a kind that has no rollouts. */
const REFUSALS: Readonly<Record<string, (known: KnownResource, name: string) => string>> = {
  "rollout status": ({ kind }) => `no status viewer has been implemented for ${kind}`,
  "rollout history": (known) => withoutVisitor("history", known),
  "rollout undo": (known) => withoutVisitor("rollbacker", known),
  "rollout restart": ({ resource }, name) => `${resource} ${JSON.stringify(name)} restarting is not supported`,
};

/** Mirrors ElemType.Accept in staging/src/k8s.io/kubectl/pkg/apps/kind_visitor.go. */
function withoutVisitor(what: string, { apiVersion, kind }: KnownResource): string {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return `error retrieving ${what} for ${JSON.stringify(kind)}, no visitor method exists for {${group} ${kind}}`;
}

/** Calls a function for each Deployment of the line. Differs: DaemonSets and StatefulSets are not supported. */
async function visitDeployments(
  session: Session,
  line: KubectlLine,
  act: (info: Info, deployment: Deployment) => Promise<void>,
): Promise<void> {
  await visit(session, line, line.words, async (info) => {
    const { known, name } = info;
    if (LACKING_KINDS.includes(known.kind)) throw unknown(`${line.verb} ${known.resource}`);
    if (known.kind !== "Deployment") throw lineError(line.verb, REFUSALS[line.verb]?.(known, name) ?? "");
    await act(info, info.object as Deployment);
  });
}

/**
 * `kubectl rollout status [--timeout 30s]`: prints what it waits for, until all replicas are updated and available.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/rollout/rollout_status.go (Run).
 */
export async function rolloutStatus(session: Session, line: KubectlLine): Promise<void> {
  const { client, clock, signal } = session;
  const timeoutMs = durationOf(line, "timeout", text(line, "timeout") ?? "0");
  const untilMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : clock.now() + timeoutMs;
  await visitDeployments(session, line, async ({ path, name }, first) => {
    let before: string | undefined;
    for (let deployment = first; ; deployment = await client.expect({ method: "GET", path, signal })) {
      const { message, isDone } = statusOf(deployment);
      if (message !== before) session.print(`${message}\n`);
      if (isDone || text(line, "watch") === "false") return;
      before = message;
      const leftMs = untilMs - clock.now();
      if (leftMs <= 0) {
        const hint: Message = ["kubectlDescribeHint", { what: `deployment ${name}` }];
        throw new MessageError("FAILED", { verbatim: "timed out waiting for the condition" }, hint);
      }
      await clock.sleep(Math.min(LOOK_AGAIN_MS, leftMs), signal);
    }
  });
}

/**
 * Mirrors DeploymentStatusViewer.Status in staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go.
 * @throws LabError FAILED if the rollout has exceeded its deadline
 */
function statusOf({ metadata, spec, status }: Deployment): { readonly message: string; readonly isDone: boolean } {
  const name = JSON.stringify(metadata.name);
  if ((metadata.generation ?? 0) > (status?.observedGeneration ?? 0)) {
    return { message: "Waiting for deployment spec update to be observed...", isDone: false };
  }
  const progressing = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") {
    throw new MessageError("FAILED", { verbatim: `deployment ${name} exceeded its progress deadline` }, [
      "kubectlDescribeHint",
      { what: `deployment ${metadata.name}` },
    ]);
  }
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status ?? {};
  const waiting = (why: string) => ({
    message: `Waiting for deployment ${name} rollout to finish: ${why}...`,
    isDone: false,
  });
  if (updatedReplicas < (spec?.replicas ?? 1)) {
    return waiting(`${updatedReplicas} out of ${spec?.replicas} new replicas have been updated`);
  }
  if (replicas > updatedReplicas) return waiting(`${replicas - updatedReplicas} old replicas are pending termination`);
  if (availableReplicas < updatedReplicas) {
    return waiting(`${availableReplicas} of ${updatedReplicas} updated replicas are available`);
  }
  return { message: `deployment ${name} successfully rolled out`, isDone: true };
}

/**
 * `kubectl rollout history`: the revisions that the ReplicaSets keep.
 * Mirrors DeploymentHistoryViewer.ViewHistory in staging/src/k8s.io/kubectl/pkg/polymorphichelpers/history.go.
 */
export async function rolloutHistory(session: Session, line: KubectlLine): Promise<void> {
  await visitDeployments(session, line, async ({ known, name }, deployment) => {
    const sets = await replicaSetsOf(session, deployment);
    const rows = sets.map((set) => {
      const cause = set.metadata.annotations?.["kubernetes.io/change-cause"] ?? "<none>";
      return `${revisionOf(set)}\t${cause}`;
    });
    session.print(
      `${nameOf(known, name)} \n${alignTabs(["REVISION\tCHANGE-CAUSE", ...rows].join("\n"), DESCRIBE_TABS)}\n\n`,
    );
  });
}

/**
 * `kubectl rollout undo [--to-revision N]`: the template of that revision, by default of the one before the newest.
 * Mirrors DeploymentRollbacker.Rollback in staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollback.go.
 */
export async function rolloutUndo(session: Session, line: KubectlLine): Promise<void> {
  await visitDeployments(session, line, async (info, deployment) => {
    const sets = await replicaSetsOf(session, deployment);
    const wanted = Number(text(line, "to-revision") ?? 0);
    const set = wanted === 0 ? sets.at(-2) : sets.find((one) => revisionOf(one) === wanted);
    if (set === undefined) {
      const problem =
        wanted === 0
          ? `no rollout history found for deployment ${JSON.stringify(info.name)}`
          : `unable to find specified revision ${wanted} in history`;
      throw new MessageError("FAILED", { verbatim: problem }, [
        "kubectlHistoryHint",
        { what: `deployment/${info.name}` },
      ]);
    }
    const { "pod-template-hash": _, ...labels } = set.spec?.template?.metadata?.labels ?? {};
    const template = { ...set.spec?.template, metadata: { ...set.spec?.template?.metadata, labels } };
    const body = [{ op: "replace", path: "/spec/template", value: template }];
    await sendPatch(session, line, info, body, "application/json-patch+json", () => "rolled back");
  });
}

/**
 * `kubectl rollout restart`: an annotation of the template makes a new revision.
 * Mirrors staging/src/k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go.
 */
export async function rolloutRestart(session: Session, line: KubectlLine): Promise<void> {
  const annotations = { "kubectl.kubernetes.io/restartedAt": rfc3339(session.clock.now()) };
  const body = { spec: { template: { metadata: { annotations } } } };
  await visitDeployments(session, line, (info) =>
    sendPatch(session, line, info, body, "application/strategic-merge-patch+json", () => "restarted"),
  );
}
