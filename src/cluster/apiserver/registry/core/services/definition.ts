import type { V1ServicePort } from "@kubernetes/client-node";
import { nameOf, type Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, formatLabels, NAME_COLUMN, orNone } from "../../rest/cells.js";
import type { ResourceDefinition } from "../../rest/definition.js";
import { action, row, statusOf } from "../../rest/rows.js";
import { ServiceStorage } from "./storage.js";
import { serviceStrategy } from "./strategy.js";
import { validateServiceStatus } from "./validation.js";

/** Services. `storage.ts` allocates their addresses and ports. */

function portsCell(ports: readonly Wire<V1ServicePort>[] | null | undefined): string {
  const parts = (ports ?? []).map(
    ({ port, nodePort = 0, protocol = "" }) => `${port}${nodePort === 0 ? "" : `:${nodePort}`}/${protocol}`,
  );
  return orNone(parts.join(","));
}

/** Mirrors getServiceExternalIP. */
function externalIpCell({ spec = {}, status }: Service): string {
  const externalIps = (spec.externalIPs ?? []).join(",");
  const ingress = status?.loadBalancer?.ingress ?? [];
  const balanced = ingress.map(({ ip, hostname }) => ip || hostname || "").join(",");
  switch (spec.type) {
    case "ExternalName":
      return spec.externalName ?? "";
    case "LoadBalancer": {
      const all = [balanced, externalIps].filter((one) => one !== "").join(",");
      return all === "" ? "<pending>" : all;
    }
    default:
      return orNone(externalIps);
  }
}

const STATUS = {
  prepareForUpdate: (service: Service, old: Service) => ({ ...service, spec: old.spec }) as Service,
  validateUpdate: (service: Service) => validateServiceStatus(service),
};

export const SERVICES: ResourceDefinition = row("v1", "Service", "services", serviceStrategy, {
  shortNames: ["svc"],
  categories: ["all"],
  deleteReturnsObject: true,
  createHooks: (deps) => new ServiceStorage(deps),
  selectableFields: ({ spec }: Service) => ({
    "spec.clusterIP": spec?.clusterIP ?? "",
    "spec.type": spec?.type ?? "",
  }),
  subresources: [
    action("proxy", "ServiceProxyOptions", ["create", "delete", "get", "patch", "update"]),
    statusOf(STATUS),
  ],
  table: {
    columns: [
      NAME_COLUMN,
      column("Type", "How the service is reached."),
      column("Cluster-IP", "The address inside the cluster, or None for a headless service."),
      column("External-IP", "Addresses from outside the cluster."),
      column("Port(s)", "Ports of the service."),
      AGE_COLUMN,
      column("Selector", "Labels of the pods that serve it.", { wide: true }),
    ],
    cells(service: Service, nowMs) {
      const { spec = {} } = service;
      return [
        nameOf(service),
        spec.type ?? "",
        orNone(spec.clusterIP ?? ""),
        externalIpCell(service),
        portsCell(spec.ports),
        ageOf(service, nowMs),
        formatLabels(spec.selector),
      ];
    },
  },
});
