import type { V1ServiceAccount } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, countOf, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { action, row } from "../rest/rows.js";

/** Mirrors pkg/registry/core/serviceaccount/strategy.go. */
const strategy: Strategy = { allowUnconditionalUpdate: true };

export const SERVICE_ACCOUNTS = row("v1", "ServiceAccount", "serviceaccounts", strategy, {
  shortNames: ["sa"],
  deleteReturnsObject: true,
  subresources: [action("token", "TokenRequest", ["create"], "authentication.k8s.io/v1")],
  table: {
    columns: [NAME_COLUMN, column("Secrets", "The number of secrets that the account lists."), AGE_COLUMN],
    cells: (account: Wire<V1ServiceAccount>, nowMs) => [
      nameOf(account),
      countOf(account.secrets),
      ageOf(account, nowMs),
    ],
  },
});
