import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: the ways to name another object. */
export const coreReferences: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    ObjectReference: `
      -- Names any object, or a part of one.
      1 kind string
      2 namespace string
      3 name string
      4 uid string:types.UID
      5 apiVersion string
      6 resourceVersion string
      7 fieldPath string`,
    LocalObjectReference: `
      -- Names an object of a known kind in the same namespace.
      1 name string`,
    TypedLocalObjectReference: `
      1 apiGroup *string! optional
      2 kind string!
      3 name string!`,
    SecretReference: `
      1 name string
      2 namespace string`,
    Binding: `
      -- Ties a pod to a node: what the scheduler sends.
      TypeMeta
      1 metadata ObjectMeta
      2 target ObjectReference! -- The node, as kind Node and its name.`,
  },
};
