import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { storeName } from "../../../../../staging/apimachinery/api/resource.js";
import { StatusError } from "../../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../../staging/apimachinery/same-json.js";
import { concurrently } from "../../../../../staging/apimachinery/wait.js";
import { WorkQueue } from "../../../../../staging/client-go/workqueue.js";
import type { Trace } from "../../../../../trace/trace.js";
import type { Clock } from "../../../../../util/clock.js";
import { messageOf } from "../../../../../util/errors.js";
import type { Registry, RequestContext } from "../../rest/registry.js";
import { isTrue, withCondition } from "../conditions.js";
import { customRows, isServed, type RulesOf } from "../customresource/rows.js";
import { approvalOf, isProtectedGroup } from "../definition/approval.js";
import { CLEANUP_FINALIZER, DEFINITIONS, type Definition } from "../types.js";
import { deleteInstances, IN_PROGRESS } from "./finalizer.js";
import { acceptNames, establish } from "./naming.js";

const FOLDER = "staging/src/k8s.io/apiextensions-apiserver/pkg";
/** How long until the objects of a definition are counted again. */
const POLL_MS = 5_000;

export interface DefinitionsDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly rulesOf: (definition: Definition) => Promise<RulesOf>;
}

/** The API server itself. */
const CONTEXT = (): RequestContext => ({
  user: { username: "system:apiserver", groups: ["system:masters"] },
  warnings: [],
});

/**
 * Serves the kinds of definitions: accepts their names, adds their rows to the registry, establishes them, and deletes the objects of
 * definitions that go.
 *
 * Mirrors the controllers of k8s.io/apiextensions-apiserver/pkg/controller (status, establish, finalizer, apiapproval).
 */
export class DefinitionsController {
  readonly #definitions = new Map<string, Definition>();
  /** what the registry serves, by the name of the definition */
  readonly #served = new Map<string, unknown>();
  readonly #queue: WorkQueue;
  readonly #deletions: WorkQueue;

  constructor(readonly deps: DefinitionsDeps) {
    this.#queue = new WorkQueue(deps.clock);
    this.#deletions = new WorkQueue(deps.clock);
  }

  /** Serves what is there already, so that no client misses it. */
  async start(definitions: readonly KubeObject[]): Promise<void> {
    for (const one of definitions) this.#definitions.set(nameOf(one), one as Definition);
    for (const one of this.#definitions.values()) {
      await this.#serve(one);
      this.#enqueue(one);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await concurrently(
      signal,
      (stop) => this.#queue.run((name) => this.#sync(name), this.#report, stop),
      (stop) => this.#deletions.run((name) => this.#finalize(name), this.#report, stop),
    );
  }

  /** @param definition as the watch has it; undefined: it is gone */
  changed(name: string, definition: Definition | undefined): void {
    const before = this.#definitions.get(name);
    if (definition === undefined) {
      this.#definitions.delete(name);
      if (before !== undefined) this.#retryGroup(before);
      this.#queue.add(name);
      return;
    }
    this.#definitions.set(name, definition);
    this.#enqueue(definition);
  }

  #enqueue(definition: Definition): void {
    this.#queue.add(nameOf(definition));
    if (isGoing(definition)) this.#deletions.add(nameOf(definition));
  }

  /** A name that becomes free may be what another definition waits for. */
  #retryGroup({ spec, metadata }: Definition): void {
    for (const other of this.#definitions.values()) {
      if (other.spec.group === spec.group && other.metadata.name !== metadata.name) this.#queue.add(nameOf(other));
    }
  }

  async #sync(name: string): Promise<void> {
    const found = this.#definitions.get(name);
    if (found === undefined) {
      if (this.#served.delete(name)) this.deps.registry.serve(name, []);
      return;
    }
    const named = await this.#write(found, (current) => this.#acceptNames(current), "status/naming_controller.go");
    if (named === undefined) return;
    if (!sameJson(named.status?.acceptedNames, found.status?.acceptedNames)) this.#retryGroup(named);
    await this.#serve(named);
    const { clock } = this.deps;
    const established = (current: Definition) => establish(current, clock.now());
    await this.#write(named, established, "establish/establishing_controller.go");
  }

  #acceptNames(definition: Definition): Definition {
    const nowMs = this.deps.clock.now();
    const { group } = definition.spec;
    const others = [...this.#definitions.values()].filter(
      ({ spec, metadata }) => spec.group === group && metadata.name !== definition.metadata.name,
    );
    return withApproval(acceptNames(definition, others, nowMs), nowMs);
  }

  /** Adds or replaces the rows of a definition in the registry. */
  async #serve(definition: Definition): Promise<void> {
    const name = nameOf(definition);
    const { registry, kubeVersion, rulesOf } = this.deps;
    const { spec, status } = definition;
    const wanted = isServed(definition)
      ? { spec, names: status?.acceptedNames, isTerminating: isTrue(definition, "Terminating") }
      : undefined;
    if (sameJson(wanted, this.#served.get(name))) return;
    const rows =
      wanted === undefined ? [] : customRows(definition, { rulesOf: await rulesOf(definition), kubeVersion });
    this.#served.set(name, wanted);
    registry.serve(name, this.#isBuiltIn(definition) ? [] : rows);
  }

  /** Built-in kinds come first, as upstream. */
  #isBuiltIn({ spec }: Definition): boolean {
    return this.deps.registry.definitions.some(
      ({ group, resource, custom }) => custom === undefined && group === spec.group && resource === spec.names.plural,
    );
  }

  async #finalize(name: string): Promise<void> {
    const found = this.#definitions.get(name);
    if (found === undefined || !isGoing(found)) return;
    const { registry, clock } = this.deps;
    const file = "finalizer/crd_finalizer.go";
    const begun = await this.#write(found, (current) => withCondition(current, IN_PROGRESS, clock.now()), file);
    if (begun === undefined) return;
    const stored = `${begun.spec.names.plural}.${begun.spec.group}`;
    const isHere = registry.definitions.some((row) => row.custom !== undefined && storeName(row) === stored);
    const { condition, isDone } = await deleteInstances(registry, begun, CONTEXT(), isHere);
    const change = (current: Definition): Definition => {
      const told = withCondition(current, condition, clock.now());
      return isDone ? withoutFinalizer(told) : told;
    };
    await this.#write(begun, change, file);
    if (!isDone) this.#deletions.addAfter(name, POLL_MS);
  }

  /** Writes the status, if `change` changes it. @returns undefined for a definition that is gone or another by now */
  async #write(
    definition: Definition,
    change: (current: Definition) => Definition,
    file: string,
  ): Promise<Definition | undefined> {
    if (change(definition) === definition) return definition;
    const { registry, trace } = this.deps;
    const name = nameOf(definition);
    const { uid } = definition.metadata;
    try {
      const { object } = await registry
        .store(DEFINITIONS)
        .update(CONTEXT(), undefined, name, "status", (current) => change(current as Definition), {
          ...(uid === undefined ? {} : { uid }),
        });
      const written = object as Definition;
      if (this.#definitions.has(name)) this.#definitions.set(name, written);
      reportConditions(trace, definition, written, file);
      return written;
    } catch (error) {
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return undefined;
      throw error;
    }
  }

  readonly #report = (name: string, error: unknown, failures = 0): void => {
    const message = `CustomResourceDefinition ${name}: ${messageOf(error)}`;
    this.deps.trace.emit({ kind: "error", message }, { actor: "apiserver", level: failures === 0 ? 0 : 3 });
  };
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? "";
}

function isGoing({ metadata: { deletionTimestamp, finalizers = [] } }: Definition): boolean {
  return deletionTimestamp !== undefined && finalizers.includes(CLEANUP_FINALIZER);
}

function withoutFinalizer(definition: Definition): Definition {
  const { finalizers = [], ...metadata } = definition.metadata;
  const left = finalizers.filter((one) => one !== CLEANUP_FINALIZER);
  return { ...definition, metadata: { ...metadata, ...(left.length === 0 ? {} : { finalizers: left }) } };
}

const APPROVALS = {
  approved: ["True", "ApprovedAnnotation"],
  bypassed: ["False", "UnapprovedAnnotation"],
  missing: ["False", "MissingAnnotation"],
  invalid: ["False", "InvalidAnnotation"],
} as const;

/** Mirrors calculateCondition in apiapproval_controller.go. */
function withApproval(definition: Definition, nowMs: number): Definition {
  if (!isProtectedGroup(definition.spec.group)) return definition;
  const approval = approvalOf(definition);
  const [status, reason] = APPROVALS[approval.state];
  const type = "KubernetesAPIApprovalPolicyConformant";
  const before = definition.status?.conditions?.find((one) => one.type === type);
  if (before?.status === status && before.reason === reason && before.message === approval.reason) return definition;
  return withCondition(definition, { type, status, reason, message: approval.reason }, nowMs);
}

function reportConditions(trace: Trace, previous: Definition, definition: Definition, file: string): void {
  const { name } = definition.metadata;
  for (const { type, status, reason = "", message = "" } of definition.status?.conditions ?? []) {
    const old = previous.status?.conditions?.find((one) => one.type === type);
    if (old?.status === status && old.reason === reason) continue;
    const what = `set condition ${type} of CustomResourceDefinition ${name}: ${status}`;
    const upstream = { file: `${FOLDER}/controller/${file}`, func: "sync" };
    trace.emit({ kind: "decision", what, why: `${reason}: ${message}`, upstream }, { actor: "apiserver" });
  }
}
