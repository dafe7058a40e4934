import type { ListOptions, WatchOptions } from "../../../../staging/apimachinery/api/options.js";
import { type FieldError, invalid } from "../../../../staging/apimachinery/errors.js";
import { factFor, isAtLeast } from "../../../../util/release/facts.js";
import { forbidden, notSupported } from "../rest/field-errors.js";

/** Mirrors k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go (ValidateListOptions). */

const FIELD = "resourceVersionMatch";
const NOT_OLDER_THAN = "NotOlderThan";
/** The release that added sendInitialEvents to watches, behind a gate. Older releases ignore the parameter. */
const SEND_INITIAL_EVENTS_SINCE = "1.27";

function withoutVersion(resourceVersion: string): FieldError[] {
  if (resourceVersion !== "") return [];
  return [forbidden(FIELD, "resourceVersionMatch is forbidden unless resourceVersion is provided")];
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

/** @throws StatusError 422 */
export function validateListOptions(options: ListOptions): void {
  const { resourceVersionMatch: match = "", resourceVersion = "" } = options;
  if (match === "") return;
  const errors = withoutVersion(resourceVersion);
  if (options.continue !== undefined && options.continue !== "") {
    errors.push(forbidden(FIELD, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match !== "Exact" && match !== NOT_OLDER_THAN) {
    errors.push(notSupported(FIELD, match, ["Exact", NOT_OLDER_THAN, ""]));
  }
  if (match === "Exact" && resourceVersion === "0") {
    errors.push(forbidden(FIELD, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  refuse(errors);
}

/** @returns whether the watch also lists (WatchList) @throws StatusError 422 */
export function validateWatchOptions(options: WatchOptions, kubeVersion: string): boolean {
  const { resourceVersionMatch: match = "", resourceVersion = "" } = options;
  if (!isAtLeast(kubeVersion, SEND_INITIAL_EVENTS_SINCE)) {
    if (match !== "") {
      refuse([forbidden(FIELD, "resourceVersionMatch is forbidden for watch"), ...withoutVersion(resourceVersion)]);
    }
    return false;
  }
  refuse(initialEventsErrors(options, match, factFor("watchList", kubeVersion)));
  return options.sendInitialEvents === true;
}

function initialEventsErrors(options: WatchOptions, match: string, isGateOn: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (options.sendInitialEvents !== undefined) {
    if (match !== NOT_OLDER_THAN) {
      errors.push(forbidden(FIELD, `sendInitialEvents requires setting resourceVersionMatch to ${NOT_OLDER_THAN}`));
    }
    if (!isGateOn) {
      const text = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
      errors.push(forbidden("sendInitialEvents", text));
    }
  }
  if (match === "") return errors;
  if (options.sendInitialEvents === undefined) {
    errors.push(forbidden(FIELD, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (match !== NOT_OLDER_THAN) errors.push(notSupported(FIELD, match, [NOT_OLDER_THAN]));
  return errors;
}
