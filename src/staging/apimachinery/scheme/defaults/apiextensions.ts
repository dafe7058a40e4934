import { type DefaultsFunction, structOf, structsOf } from "./struct.js";

/** Mirrors k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go. */
export const apiextensionsDefaults: Readonly<Record<string, DefaultsFunction>> = {
  CustomResourceDefinition(definition) {
    const status = structOf(definition["status"]);
    if (Array.isArray(status["storedVersions"])) return;
    const versions = structsOf(structOf(definition["spec"])["versions"]);
    const storage = versions.find((version) => version["storage"] === true);
    if (storage !== undefined) status["storedVersions"] = [storage["name"]];
  },
  CustomResourceDefinitionSpec(spec) {
    const names = structOf(spec["names"]);
    const { kind } = names;
    if (typeof kind === "string" && kind !== "") {
      names["singular"] ??= kind.toLowerCase();
      names["listKind"] ??= `${kind}List`;
    }
    // Validation refuses a definition without versions; null would be in its way.
    spec["versions"] ??= [];
    spec["conversion"] ??= { strategy: "None" };
  },
};
