import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isDns1123Subdomain, isPathSegmentName } from "../../../apimachinery/api/names.js";
import type { FieldError } from "../../../apimachinery/errors.js";
import type { Strategy } from "../definition.js";
import { type Fields, fields, items, semanticallyEqual, text } from "./access.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, nameOf } from "./cells.js";
import { goValue, invalidValue, notSupported, required } from "./field-errors.js";
import { row } from "./rows.js";

const GROUP = "rbac.authorization.k8s.io";
const GROUP_VERSION = `${GROUP}/v1`;

/** Mirrors ValidatePolicyRule in pkg/apis/rbac/validation/validation.go. */
function validateRules(role: KubeObject, isNamespaced: boolean): FieldError[] {
  return items(role.rules).flatMap((one, index) => {
    const rule = fields(one);
    const field = `rules[${index}]`;
    const errors: FieldError[] = [];
    if (items(rule.verbs).length === 0)
      errors.push(required(`${field}.verbs`, "verbs must contain at least one value"));
    if (items(rule.nonResourceURLs).length > 0) {
      if (isNamespaced) {
        const text = "namespaced rules cannot apply to non-resource URLs";
        errors.push(invalidValue(`${field}.nonResourceURLs`, goStrings(rule.nonResourceURLs), text));
      }
      if ([rule.apiGroups, rule.resources, rule.resourceNames].some((list) => items(list).length > 0)) {
        const text = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(invalidValue(`${field}.nonResourceURLs`, goStrings(rule.nonResourceURLs), text));
      }
      return errors;
    }
    if (items(rule.apiGroups).length === 0) {
      errors.push(required(`${field}.apiGroups`, "resource rules must supply at least one api group"));
    }
    if (items(rule.resources).length === 0) {
      errors.push(required(`${field}.resources`, "resource rules must supply at least one resource"));
    }
    return errors;
  });
}

function goStrings(list: unknown) {
  return goValue(
    `[]string{${items(list)
      .map((one) => JSON.stringify(one))
      .join(", ")}}`,
  );
}

function roleStrategy(isNamespaced: boolean): Strategy {
  const validate = (role: KubeObject): FieldError[] => validateRules(role, isNamespaced);
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    validateName: isPathSegmentName,
    validate,
    validateUpdate: validate,
  };
}

function validateBinding(binding: KubeObject, isNamespaced: boolean): FieldError[] {
  const roleRef = fields(binding.roleRef);
  const errors: FieldError[] = [];
  if (roleRef.apiGroup !== GROUP) errors.push(notSupported("roleRef.apiGroup", text(roleRef.apiGroup), [GROUP]));
  const kinds = isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  // Go prints a set's members sorted; the list for a ClusterRoleBinding has only one member.
  if (!kinds.includes(text(roleRef.kind)))
    errors.push(notSupported("roleRef.kind", text(roleRef.kind), [...kinds].sort()));
  const name = text(roleRef.name);
  if (name === "") errors.push(required("roleRef.name"));
  else errors.push(...isPathSegmentName(name).map((one) => invalidValue("roleRef.name", name, one)));
  items(binding.subjects).forEach((one, index) => {
    errors.push(...validateSubject(fields(one), isNamespaced, `subjects[${index}]`));
  });
  return errors;
}

/** Mirrors ValidateRoleBindingSubject. */
function validateSubject(subject: Fields, isNamespaced: boolean, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const name = text(subject.name);
  const apiGroup = text(subject.apiGroup);
  if (name === "") errors.push(required(`${field}.name`));
  switch (subject.kind) {
    case "ServiceAccount":
      if (name !== "") errors.push(...isDns1123Subdomain(name).map((one) => invalidValue(`${field}.name`, name, one)));
      if (apiGroup !== "") errors.push(notSupported(`${field}.apiGroup`, apiGroup, [""]));
      if (!isNamespaced && text(subject.namespace) === "") errors.push(required(`${field}.namespace`));
      break;
    case "User":
    case "Group":
      if (apiGroup !== GROUP) errors.push(notSupported(`${field}.apiGroup`, apiGroup, [GROUP]));
      break;
    default:
      errors.push(notSupported(`${field}.kind`, text(subject.kind), ["ServiceAccount", "User", "Group"]));
  }
  return errors;
}

function bindingStrategy(isNamespaced: boolean): Strategy {
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    validateName: isPathSegmentName,
    validate: (binding) => validateBinding(binding, isNamespaced),
    validateUpdate(binding, old) {
      const errors = validateBinding(binding, isNamespaced);
      if (!semanticallyEqual(binding.roleRef, old.roleRef)) {
        const roleRef = fields(binding.roleRef);
        const [group, kind, name] = [roleRef.apiGroup, roleRef.kind, roleRef.name].map((one) =>
          JSON.stringify(text(one)),
        );
        const shown = goValue(`rbac.RoleRef{APIGroup:${group}, Kind:${kind}, Name:${name}}`);
        errors.push(invalidValue("roleRef", shown, "cannot change roleRef"));
      }
      return errors;
    },
  };
}

function subjectsOf(binding: KubeObject, kind: string): string {
  return items(binding.subjects)
    .map(fields)
    .filter((one) => one.kind === kind)
    .map((one) => (kind === "ServiceAccount" ? `${text(one.namespace)}/${text(one.name)}` : text(one.name)))
    .join(", ");
}

function bindingTable(description: string, where: string) {
  return {
    columns: [
      NAME_COLUMN,
      column("Role", description),
      AGE_COLUMN,
      column("Users", `Users in the ${where}`, { wide: true }),
      column("Groups", `Groups in the ${where}`, { wide: true }),
      column("ServiceAccounts", `ServiceAccounts in the ${where}`, { wide: true }),
    ],
    cells(binding: KubeObject, nowMs: number): unknown[] {
      const roleRef = fields(binding.roleRef);
      return [
        nameOf(binding),
        `${text(roleRef.kind)}/${text(roleRef.name)}`,
        ageOf(binding, nowMs),
        subjectsOf(binding, "User"),
        subjectsOf(binding, "Group"),
        subjectsOf(binding, "ServiceAccount"),
      ];
    },
  };
}

/** Roles show their creation time, not their age. */
const ROLE_TABLE = {
  columns: [NAME_COLUMN, column("Created At", "When the server created the object.", { type: "date" as const })],
  cells: (role: KubeObject): unknown[] => [nameOf(role), role.metadata.creationTimestamp ?? null],
};

export const RBAC = [
  row(GROUP_VERSION, "ClusterRoleBinding", "clusterrolebindings", bindingStrategy(false), {
    namespaced: false,
    table: bindingTable("The cluster role that is bound.", "clusterRoleBinding"),
  }),
  row(GROUP_VERSION, "ClusterRole", "clusterroles", roleStrategy(false), {
    namespaced: false,
    table: ROLE_TABLE,
  }),
  row(GROUP_VERSION, "RoleBinding", "rolebindings", bindingStrategy(true), {
    table: bindingTable("The role or cluster role that is bound in this namespace.", "roleBinding"),
  }),
  row(GROUP_VERSION, "Role", "roles", roleStrategy(true), { table: ROLE_TABLE }),
];
