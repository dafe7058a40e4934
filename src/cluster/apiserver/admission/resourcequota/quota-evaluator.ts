import { StatusError } from "../../../../staging/apimachinery/errors.js";
import { admittedName } from "../../../../staging/server/admission/errors.js";
import type { AdmissionAttributes } from "../../../../staging/server/admission/interfaces.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type { Evaluator, ResourceQuota } from "../../../../staging/server/quota/evaluator.js";
import { sameAmounts } from "../../../../staging/server/quota/resources.js";
import { currentScope, runInScope, type Scope } from "../../../../trace/scope.js";
import type { Trace } from "../../../../trace/trace.js";
import { defined } from "../../../../util/defined.js";
import type { ResourceStore } from "../../registry/rest/registry.js";
import { type Charge, checkRequest } from "./check-request.js";

const FILE = "staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go";
/** The `-v` level from which a terminal shows the API server's decision on each request. */
const LEVEL = 3;
/** After a conflict with another writer of the quota. */
const MAX_RETRIES = 3;

/** The API server's own client. */
const API_SERVER: UserInfo = { username: "system:apiserver", groups: ["system:masters"] };

export interface QuotaEvaluatorDeps {
  /** of resourcequotas */
  readonly quotas: ResourceStore;
  readonly trace: Trace;
}

/** A write that waits for its decision. */
interface Waiter {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: Evaluator;
  readonly scope: Scope | undefined;
  accept(): void;
  refuse(error: unknown): void;
}

/**
 * Charges writes to the quotas of their namespace. Those that arrive while a quota is written are decided together, with one write of
 * each quota's status, which is refused if another client has changed it.
 *
 * Mirrors quotaEvaluator in k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
 * Differs: one worker for each namespace and no time limit, because nothing here waits for a network.
 */
export class QuotaEvaluator {
  /** namespace -> the next batch; there while a worker decides the one before */
  readonly #next = new Map<string, Waiter[]>();

  constructor(readonly deps: QuotaEvaluatorDeps) {}

  /** @throws StatusError 403 when a quota would be exceeded; 409 when its status changes all the time */
  evaluate(attributes: AdmissionAttributes, evaluator: Evaluator): Promise<void> {
    const { namespace } = attributes;
    return new Promise<void>((accept, refuse) => {
      const waiter = { attributes, evaluator, scope: currentScope(), accept, refuse };
      const next = this.#next.get(namespace);
      if (next !== undefined) next.push(waiter);
      else void this.#work(namespace, waiter);
    });
  }

  /** Mirrors doWork. */
  async #work(namespace: string, first: Waiter): Promise<void> {
    let batch = [first];
    while (batch.length > 0) {
      const next: Waiter[] = [];
      this.#next.set(namespace, next);
      await this.#checkAttributes(namespace, batch);
      batch = next;
    }
    this.#next.delete(namespace);
  }

  /** Settles every waiter of the batch. */
  async #checkAttributes(namespace: string, batch: readonly Waiter[]): Promise<void> {
    try {
      await this.#checkQuotas(await this.quotasOf(namespace), batch, MAX_RETRIES);
    } catch (error) {
      for (const waiter of batch) waiter.refuse(error);
    }
  }

  async quotasOf(namespace: string): Promise<readonly ResourceQuota[]> {
    return (await this.deps.quotas.list(namespace)).items as readonly ResourceQuota[];
  }

  /**
   * Decides about the waiters in order, each after those before it, then writes the quotas that changed. Those who wait for a quota that
   * another client has changed meanwhile are decided again, by the quotas that were not written.
   */
  async #checkQuotas(quotas: readonly ResourceQuota[], batch: readonly Waiter[], retries: number): Promise<void> {
    let running = quotas;
    const charged: Waiter[] = [];
    for (const waiter of batch) {
      const charges = this.#check(running, waiter);
      if (charges === undefined) continue;
      if (charges.length === 0 || waiter.attributes.dryRun) {
        waiter.accept();
        continue;
      }
      running = running.map((quota) => withCharge(quota, charges));
      charged.push(waiter);
    }
    if (charged.length === 0) return;
    const stale = await this.#writeChanged(quotas, running, charged);
    if (stale === undefined) {
      for (const waiter of charged) waiter.accept();
    } else if (retries === 0) {
      for (const waiter of charged) waiter.refuse(stale.error);
    } else {
      const current = await this.quotasOf(quotas[0]?.metadata.namespace ?? "");
      const again = current.filter(({ metadata }) => stale.names.has(metadata.name ?? ""));
      await this.#checkQuotas(again, charged, retries - 1);
    }
  }

  /** @returns undefined if the write was refused */
  #check(quotas: readonly ResourceQuota[], waiter: Waiter): readonly Charge[] | undefined {
    const { attributes, evaluator, scope } = waiter;
    try {
      const charges = checkRequest(quotas, attributes, evaluator);
      runInScope(scope, () => {
        for (const charge of charges) this.#report(charge, attributes);
      });
      return charges;
    } catch (error) {
      waiter.refuse(error);
      return undefined;
    }
  }

  /** @returns the quotas that another client has changed, with the last error; undefined if all were written */
  async #writeChanged(
    before: readonly ResourceQuota[],
    after: readonly ResourceQuota[],
    [first]: readonly Waiter[],
  ): Promise<{ readonly names: ReadonlySet<string>; readonly error: unknown } | undefined> {
    const names = new Set<string>();
    let lastError: unknown;
    for (const [index, quota] of after.entries()) {
      if (sameAmounts(before[index]?.status?.used ?? {}, quota.status?.used ?? {})) continue;
      try {
        await runInScope(first?.scope, () => this.#writeStatus(quota));
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        names.add(quota.metadata.name ?? "");
        lastError = error;
      }
    }
    return names.size === 0 ? undefined : { names, error: lastError };
  }

  async #writeStatus(quota: ResourceQuota): Promise<void> {
    const { namespace, name = "", uid } = quota.metadata;
    const context = { user: API_SERVER, warnings: [] };
    await this.deps.quotas.update(context, namespace, name, "status", () => quota, defined({ uid }));
  }

  #report({ quota, requested, used }: Charge, attributes: AdmissionAttributes): void {
    const { trace } = this.deps;
    if (!trace.wants(LEVEL)) return;
    const { namespace, name } = quota.metadata;
    const { hard = {}, used: before = {} } = quota.status ?? {};
    const { auditId, operation, resource, dryRun } = attributes;
    const write = `${operation.toLowerCase()} of ${resource} ${namespace}/${admittedName(attributes)}`;
    const lines = Object.keys(requested)
      .sort()
      .map((one) => `${one} ${before[one] ?? 0} -> ${used[one]} of ${hard[one]}`);
    trace.emit(
      {
        kind: "decision",
        what: dryRun ? `allow dry run of ${write}` : `charge ${write} to ResourceQuota ${namespace}/${name}`,
        why: lines.join(", "),
        upstream: { file: FILE, func: "CheckRequest" },
        ...defined({ auditId }),
      },
      { actor: "apiserver", level: LEVEL },
    );
  }
}

function withCharge(quota: ResourceQuota, charges: readonly Charge[]): ResourceQuota {
  const charge = charges.find((one) => one.quota === quota);
  return charge === undefined ? quota : { ...quota, status: { ...quota.status, used: charge.used } };
}
