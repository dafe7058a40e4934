import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { nanoValue, unitValue } from "../../apimachinery/quantity.js";
import type { Wire } from "../../apimachinery/wire.js";
import { countName, type Evaluator, WITHOUT_SCOPES } from "./evaluator.js";

const COUNT = countName("persistentvolumeclaims");
const CLAIMS = "persistentvolumeclaims";
const STORAGE = "requests.storage";
/** `gold.storageclass.storage.k8s.io/requests.storage`: of the claims of one class */
const OF_CLASS = ".storageclass.storage.k8s.io/";
const NANOS_PER_BYTE = 1_000_000_000n;
const BETA_CLASS = "volume.beta.kubernetes.io/storage-class";

/** Measures claims: their number and storage, together and by class. Mirrors pkg/quota/v1/evaluator/core/persistent_volume_claims.go. */
export const claimEvaluator: Evaluator = {
  ...WITHOUT_SCOPES,
  resource: CLAIMS,
  // A claim can grow.
  handles: (operation) => operation === "CREATE" || operation === "UPDATE",
  matchingResources: (input) =>
    input.filter(
      (name) => [COUNT, CLAIMS, STORAGE].includes(name) || isOfClass(name, CLAIMS) || isOfClass(name, STORAGE),
    ),
  usage(claim: Wire<V1PersistentVolumeClaim>) {
    const own = { [CLAIMS]: "1", ...storageOf(claim) };
    const name = className(claim);
    const ofClass = Object.entries(own).map(([resource, amount]) => [name + OF_CLASS + resource, amount]);
    return { [COUNT]: "1", ...own, ...(name === "" ? {} : Object.fromEntries(ofClass)) };
  },
};

function isOfClass(name: string, resource: string): boolean {
  return name.endsWith(OF_CLASS + resource);
}

/** A fraction of a byte counts as a byte. */
function storageOf({ spec }: Wire<V1PersistentVolumeClaim>): Record<string, string> {
  const storage = spec?.resources?.requests?.["storage"];
  if (storage === undefined) return {};
  const isWhole = (nanoValue(storage) ?? 0n) % NANOS_PER_BYTE === 0n;
  return { [STORAGE]: isWhole ? storage : String(unitValue(storage)) };
}

/** Mirrors GetPersistentVolumeClaimClass. */
function className({ metadata, spec }: Wire<V1PersistentVolumeClaim>): string {
  return metadata.annotations?.[BETA_CLASS] ?? spec?.storageClassName ?? "";
}
