import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Random } from "../../../../util/random.js";
import type { Storage } from "../../storage/storage.js";
import { changesBetween, type ReportStage, type ResourceRow } from "./stages.js";

const FILE = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go";

/**
 * What a kind does around writes, beyond preparing and validating its objects: services allocate addresses.
 * Mirrors BeginCreate, BeginUpdate and AfterDelete in k8s.io/apiserver/pkg/registry/generic/registry/store.go.
 */
export interface StoreHooks {
  /** Runs after admission and before validation. @throws StatusError */
  beginCreate(object: KubeObject, request: HookRequest): Promise<Begun>;
  /** Updates of subresources do not come here. @throws StatusError */
  beginUpdate(object: KubeObject, old: KubeObject, request: HookRequest): Promise<Begun>;
  afterDelete(object: KubeObject): Promise<void>;
}

export interface HookRequest {
  readonly dryRun: boolean;
}

/** A write that has begun: its object, and what to do at its end. */
export interface Begun {
  readonly object: KubeObject;
  /** Keeps what was allocated if the object was stored, and gives it back if it was not. */
  finish(isStored: boolean): Promise<void>;
}

/** The registry's parts that hooks need. */
export interface HookDeps {
  readonly storage: Storage;
  readonly random: Random;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
}

/** Reports what a hook changed in the object. @param func of the kind's storage upstream */
export function reportBegun(
  definition: ResourceRow,
  report: ReportStage | undefined,
  before: KubeObject,
  { object }: Begun,
  func: "BeginCreate" | "BeginUpdate",
): void {
  if (report === undefined || object === before) return;
  const changes = changesBetween(definition, before, object);
  const what = `allocate for ${definition.kind} ${object.metadata.name ?? ""}`;
  const why = "addresses and ports come from ranges that all objects share";
  if (changes.length > 0) report({ what, why, changes, upstream: { file: FILE, func } });
}

/** Runs `write` with the object that a hook prepared. A result of undefined means that nothing was stored. */
export async function whileBegun<T>(
  begun: Begun | undefined,
  admitted: KubeObject,
  write: (object: KubeObject) => Promise<T>,
): Promise<T> {
  if (begun === undefined) return write(admitted);
  let isStored = false;
  try {
    const written = await write(begun.object);
    isStored = written !== undefined;
    return written;
  } finally {
    await begun.finish(isStored);
  }
}
