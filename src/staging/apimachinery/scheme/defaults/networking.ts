import type { DefaultsFunction } from "./struct.js";

/** Mirrors pkg/apis/networking/v1/defaults.go. */
export const networkingDefaults: Readonly<Record<string, DefaultsFunction>> = {
  NetworkPolicySpec(spec) {
    if (Array.isArray(spec.policyTypes) && spec.policyTypes.length > 0) return;
    const hasEgress = Array.isArray(spec.egress) && spec.egress.length > 0;
    spec.policyTypes = hasEgress ? ["Ingress", "Egress"] : ["Ingress"];
  },
};
