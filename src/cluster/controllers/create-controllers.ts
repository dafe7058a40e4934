import assert from "node:assert/strict";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { ApiResource } from "../../staging/apimachinery/api/resource.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import { type SharedReflectors, sharingReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfController } from "../../trace/view.js";
import { isRecord } from "../../util/records.js";
import { createBootstrapSigner } from "./bootstrap/bootstrap-signer.js";
import { createTokenCleaner } from "./bootstrap/token-cleaner.js";
import { createCsrApprovingController } from "./certificates/approving.js";
import { createCsrCleanerController } from "./certificates/cleaner.js";
import { createRootCaCertPublisher } from "./certificates/root-ca-publisher.js";
import { createCsrSigningController } from "./certificates/signing.js";
import type { Controller, ControllerDeps } from "./controller.js";
import { createEventTtlController } from "./event-ttl.js";
import { createFirstUseController, type FirstUse } from "./first-use.js";
import { createGarbageCollector } from "./garbagecollector/garbage-collector.js";
import { createNamespaceController } from "./namespace/namespace.js";
import { createNodeIpamController } from "./node/nodeipam.js";
import { createNodeLifecycleController } from "./node/nodelifecycle/node-lifecycle.js";
import { createTaintEvictionController } from "./node/tainteviction/taint-eviction.js";
import { createTtlController } from "./node/ttl.js";
import { createPodGcController } from "./podgc.js";
import { createServiceAccountsController } from "./serviceaccount.js";
import { ControllerRecorder } from "./support/event-recorder.js";
import type { SharedDeps } from "./support/shared-deps.js";

/** The dependencies of a control plane's controllers. */
export interface ControllersDeps extends Omit<ControllerDeps, "client"> {
  /**
   * Creates a client that acts as this user: every controller has its own service account.
   * @param trace gets its requests; default: the trace of all controllers
   */
  clientFor(user: UserInfo, trace?: Trace): LocalClient;
  /** the table of resources: `registry.definitions` */
  readonly definitions: readonly ApiResource[];
  /** calls back after each change of the table */
  onDefinitions?(listener: () => void): void;
}

export interface ControllersOptions {
  /** the range that is divided among the nodes; default 10.244.0.0/16, the usual value with kubeadm */
  readonly clusterCidr?: string;
  /** ms; default one year */
  readonly clusterSigningDurationMs?: number;
}

/** @param clientFor for what another component does upstream */
type Make = (deps: SharedDeps, options: ControllersOptions, clientFor: ControllersDeps["clientFor"]) => Controller;

interface Row {
  readonly name: string;
  /** the service account of kube-system that it acts as */
  readonly account: string;
  readonly make: Make;
}

/** A controller whose kinds many clusters never use. */
interface FirstUseRow extends Omit<Row, "make">, Omit<FirstUse, "load"> {
  /** Imports the module, which is not loaded before. */
  readonly load: () => Promise<Make>;
}

/**
 * Each controller with the service account it acts as. Mirrors NewControllerInitializers in
 * cmd/kube-controller-manager/app/controllermanager.go and the ClientOrDie names in core.go.
 */
const CONTROLLERS: readonly (Row | FirstUseRow)[] = [
  {
    name: "serviceaccount",
    account: "service-account-controller",
    make: createServiceAccountsController,
  },
  { name: "root-ca-cert-publisher", account: "root-ca-cert-publisher", make: createRootCaCertPublisher },
  {
    name: "bootstrapsigner",
    account: "bootstrap-signer",
    make: (deps, _options, clientFor) => createBootstrapSigner(deps, clientFor(KUBEADM)),
  },
  { name: "tokencleaner", account: "token-cleaner", make: createTokenCleaner },
  { name: "csrapproving", account: "certificate-controller", make: createCsrApprovingController },
  {
    name: "csrsigning",
    account: "certificate-controller",
    make: (deps, { clusterSigningDurationMs }) =>
      createCsrSigningController(
        deps,
        clusterSigningDurationMs === undefined ? {} : { signingDurationMs: clusterSigningDurationMs },
      ),
  },
  { name: "csrcleaner", account: "certificate-controller", make: createCsrCleanerController },
  { name: "nodelifecycle", account: "node-controller", make: createNodeLifecycleController },
  { name: "taint-eviction-controller", account: "node-controller", make: createTaintEvictionController },
  {
    name: "nodeipam",
    account: "node-controller",
    make: (deps, { clusterCidr }) => createNodeIpamController(deps, clusterCidr ?? "10.244.0.0/16"),
  },
  { name: "ttl", account: "ttl-controller", make: createTtlController },
  { name: "podgc", account: "pod-garbage-collector", make: createPodGcController },
  { name: "garbagecollector", account: "generic-garbage-collector", make: createGarbageCollector },
  { name: "namespace", account: "namespace-controller", make: createNamespaceController },
  {
    name: "endpoint",
    account: "endpoint-controller",
    startsWith: ["services"],
    isUse: hasSelector,
    load: async () => (await import("./endpoints/endpoint/endpoints-controller.js")).createEndpointsController,
  },
  {
    name: "endpointslice",
    account: "endpointslice-controller",
    startsWith: ["services"],
    isUse: hasSelector,
    load: async () =>
      (await import("./endpoints/endpointslice/endpointslice-controller.js")).createEndpointSliceController,
  },
  {
    name: "endpointslicemirroring",
    account: "endpointslicemirroring-controller",
    startsWith: ["endpoints"],
    isUse: isWrittenByHand,
    load: async () =>
      (await import("./endpoints/endpointslicemirroring/controller.js")).createEndpointSliceMirroringController,
  },
  {
    name: "replicationcontroller",
    account: "replication-controller",
    startsWith: ["replicationcontrollers"],
    load: async () => (await import("./replicaset/replication-controller.js")).createReplicationController,
  },
  {
    name: "replicaset",
    account: "replicaset-controller",
    startsWith: ["replicasets.apps"],
    load: async () => (await import("./replicaset/replica-set.js")).createReplicaSetController,
  },
  {
    name: "deployment",
    account: "deployment-controller",
    startsWith: ["deployments.apps"],
    load: async () => (await import("./deployment/deployment-controller.js")).createDeploymentController,
  },
  {
    name: "statefulset",
    account: "statefulset-controller",
    startsWith: ["statefulsets.apps"],
    load: async () => (await import("./statefulset/stateful-set.js")).createStatefulSetController,
  },
  {
    name: "daemonset",
    account: "daemon-set-controller",
    startsWith: ["daemonsets.apps"],
    load: async () => (await import("./daemon/daemon-controller.js")).createDaemonSetsController,
  },
  {
    name: "disruption",
    account: "disruption-controller",
    startsWith: ["poddisruptionbudgets.policy"],
    load: async () => (await import("./disruption/disruption-controller.js")).createDisruptionController,
  },
  {
    name: "job",
    account: "job-controller",
    startsWith: ["jobs.batch"],
    load: async () => (await import("./job/job-controller.js")).createJobController,
  },
  {
    name: "cronjob",
    account: "cronjob-controller",
    startsWith: ["cronjobs.batch"],
    load: async () => (await import("./cronjob/cronjob-controller.js")).createCronJobController,
  },
  {
    name: "ttl-after-finished",
    account: "ttl-after-finished-controller",
    startsWith: ["jobs.batch"],
    load: async () => (await import("./ttlafterfinished/ttl-after-finished.js")).createTtlAfterFinishedController,
  },
  {
    name: "resourcequota",
    account: "resourcequota-controller",
    startsWith: ["resourcequotas"],
    load: async () => (await import("./resourcequota/resource-quota-controller.js")).createResourceQuotaController,
  },
  {
    name: "horizontalpodautoscaling",
    account: "horizontal-pod-autoscaler",
    startsWith: ["horizontalpodautoscalers.autoscaling"],
    load: async () => (await import("./podautoscaler/horizontal.js")).createHorizontalController,
  },
  {
    name: "persistentvolume-binder",
    account: "persistent-volume-binder",
    startsWith: ["persistentvolumeclaims", "persistentvolumes"],
    load: async () => (await import("./volume/persistentvolume/pv-controller.js")).createPersistentVolumeController,
  },
  {
    name: "persistentvolume-expander",
    account: "expand-controller",
    startsWith: ["persistentvolumeclaims"],
    load: async () => (await import("./volume/expand.js")).createExpandController,
  },
  {
    name: "pvc-protection",
    account: "pvc-protection-controller",
    startsWith: ["persistentvolumeclaims"],
    load: async () => (await import("./volume/protection.js")).createPvcProtectionController,
  },
  {
    name: "pv-protection",
    account: "pv-protection-controller",
    startsWith: ["persistentvolumes"],
    load: async () => (await import("./volume/protection.js")).createPvProtectionController,
  },
  {
    name: "ephemeral-volume",
    account: "ephemeral-volume-controller",
    startsWith: ["pods"],
    isUse: hasEphemeralVolume,
    load: async () => (await import("./volume/ephemeral.js")).createEphemeralVolumeController,
  },
  {
    name: "local-path-provisioner",
    account: "local-path-provisioner-service-account",
    startsWith: ["persistentvolumeclaims"],
    load: async () => (await import("./volume/local-path.js")).createLocalPathProvisioner,
  },
  {
    name: "event-ttl",
    account: "event-ttl",
    make: (deps, _options, clientFor) => createEventTtlController({ ...deps, client: clientFor(API_SERVER) }),
  },
];

/** Creates all controllers, with upstream's names. @param reflectors one per resource for all of them */
export function createControllers(
  deps: ControllersDeps,
  reflectors: SharedReflectors,
  options: ControllersOptions = {},
): readonly Controller[] {
  const manager = deps.clientFor(CONTROLLER_MANAGER);
  return CONTROLLERS.map((row) => {
    const { name, account } = row;
    const trace = traceOfController(deps.trace, name);
    const client = sharingReflectors(deps.clientFor(serviceAccount(account), trace), reflectors);
    const own = { ...deps, client, trace };
    const recorderFor = (component: string) => new ControllerRecorder(own, component);
    const create = (make: Make) => {
      const controller = make({ ...own, reflectors, recorderFor }, options, deps.clientFor);
      assert.equal(controller.name, name);
      return controller;
    };
    if ("make" in row) return create(row.make);
    const load = async () => create(await row.load());
    return createFirstUseController({ ...own, client: manager }, { ...row, load });
  });
}

/** Whom the API server takes the controller manager for. */
export const CONTROLLER_MANAGER: UserInfo = {
  username: "system:kube-controller-manager",
  groups: ["system:authenticated"],
};

/** Upstream the API server gives events a lease of etcd, so no role allows their deletion. */
const API_SERVER: UserInfo = { username: "system:apiserver", groups: ["system:masters"] };

/** Who runs `kubeadm init`. */
const KUBEADM: UserInfo = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

/** A controller's identity for admission plugins and audit: a service account of kube-system. */
function serviceAccount(name: string): UserInfo {
  return {
    username: `system:serviceaccount:kube-system:${name}`,
    groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
  };
}

function hasEphemeralVolume({ spec }: KubeObject): boolean {
  const volumes = isRecord(spec) ? spec["volumes"] : undefined;
  return Array.isArray(volumes) && volumes.some((volume) => isRecord(volume) && isRecord(volume["ephemeral"]));
}

/** The endpoints of other services, such as `kubernetes`, have other authors. */
function hasSelector({ spec }: KubeObject): boolean {
  return isRecord(spec) && isRecord(spec["selector"]);
}

/** The controller of endpoints notes the time of the change; the API server's own are not to be mirrored. */
function isWrittenByHand({ metadata }: KubeObject): boolean {
  const { labels, annotations } = metadata;
  return (
    labels?.["endpointslice.kubernetes.io/skip-mirror"] !== "true" &&
    annotations?.["endpoints.kubernetes.io/last-change-trigger-time"] === undefined
  );
}
