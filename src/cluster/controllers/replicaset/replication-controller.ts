import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { replicaSetController } from "./replica-set.js";

/**
 * A ReplicationController is a ReplicaSet with a plain map as its selector.
 * Mirrors pkg/controller/replication/replication_controller.go (NewReplicationManager) and conversion.go.
 */
export function createReplicationController(deps: SharedDeps): Controller {
  return replicaSetController(deps, {
    kind: "ReplicationController",
    resource: "replicationcontrollers",
    controllerName: "replicationcontroller",
    component: "replication-controller",
    selectorOf: ({ spec }) => ({ matchLabels: (spec?.selector ?? {}) as Readonly<Record<string, string>> }),
  });
}
