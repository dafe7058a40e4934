import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
} from "@kubernetes/client-node";
import { isDns1123Subdomain, isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { goValue, invalidValue, notSupported, required } from "../rest/field-errors.js";
import { row } from "../rest/rows.js";

type Role = Wire<V1Role> | Wire<V1ClusterRole>;
type RoleBinding = Wire<V1RoleBinding> | Wire<V1ClusterRoleBinding>;

const GROUP = "rbac.authorization.k8s.io";
const GROUP_VERSION = `${GROUP}/v1`;

/** Mirrors ValidatePolicyRule in pkg/apis/rbac/validation/validation.go. */
function validateRules(role: Role, isNamespaced: boolean): FieldError[] {
  return (role.rules ?? []).flatMap((rule, index) => {
    const field = `rules[${index}]`;
    const errors: FieldError[] = [];
    if (isEmpty(rule.verbs)) errors.push(required(`${field}.verbs`, "verbs must contain at least one value"));
    if (!isEmpty(rule.nonResourceURLs)) {
      if (isNamespaced) {
        const text = "namespaced rules cannot apply to non-resource URLs";
        errors.push(invalidValue(`${field}.nonResourceURLs`, goStrings(rule.nonResourceURLs), text));
      }
      if ([rule.apiGroups, rule.resources, rule.resourceNames].some((list) => !isEmpty(list))) {
        const text = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(invalidValue(`${field}.nonResourceURLs`, goStrings(rule.nonResourceURLs), text));
      }
      return errors;
    }
    if (isEmpty(rule.apiGroups)) {
      errors.push(required(`${field}.apiGroups`, "resource rules must supply at least one api group"));
    }
    if (isEmpty(rule.resources)) {
      errors.push(required(`${field}.resources`, "resource rules must supply at least one resource"));
    }
    return errors;
  });
}

function isEmpty(list: readonly string[] | null | undefined): boolean {
  return (list ?? []).length === 0;
}

function goStrings(list: readonly string[] = []) {
  return goValue(`[]string{${list.map((one) => JSON.stringify(one)).join(", ")}}`);
}

function roleStrategy(isNamespaced: boolean): Strategy {
  const validate = (role: Role): FieldError[] => validateRules(role, isNamespaced);
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    validateName: isPathSegmentName,
    validate,
    validateUpdate: validate,
  };
}

function validateBinding({ roleRef, subjects }: RoleBinding, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (roleRef.apiGroup !== GROUP) errors.push(notSupported("roleRef.apiGroup", roleRef.apiGroup, [GROUP]));
  const kinds = isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  // Go prints a set's members sorted; the list for a ClusterRoleBinding has only one member.
  if (!kinds.includes(roleRef.kind)) errors.push(notSupported("roleRef.kind", roleRef.kind, [...kinds].sort()));
  const { name } = roleRef;
  if (name === "") errors.push(required("roleRef.name"));
  else errors.push(...isPathSegmentName(name).map((one) => invalidValue("roleRef.name", name, one)));
  subjects?.forEach((subject, index) => {
    errors.push(...validateSubject(subject, isNamespaced, `subjects[${index}]`));
  });
  return errors;
}

/** Mirrors ValidateRoleBindingSubject. */
function validateSubject(subject: Wire<RbacV1Subject>, isNamespaced: boolean, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const { name, apiGroup = "" } = subject;
  if (name === "") errors.push(required(`${field}.name`));
  switch (subject.kind) {
    case "ServiceAccount":
      if (name !== "") errors.push(...isDns1123Subdomain(name).map((one) => invalidValue(`${field}.name`, name, one)));
      if (apiGroup !== "") errors.push(notSupported(`${field}.apiGroup`, apiGroup, [""]));
      if (!isNamespaced && !subject.namespace) errors.push(required(`${field}.namespace`));
      break;
    case "User":
    case "Group":
      if (apiGroup !== GROUP) errors.push(notSupported(`${field}.apiGroup`, apiGroup, [GROUP]));
      break;
    default:
      errors.push(notSupported(`${field}.kind`, subject.kind, ["ServiceAccount", "User", "Group"]));
  }
  return errors;
}

function bindingStrategy(isNamespaced: boolean): Strategy {
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    validateName: isPathSegmentName,
    validate: (binding: RoleBinding) => validateBinding(binding, isNamespaced),
    validateUpdate(binding: RoleBinding, old: RoleBinding) {
      const errors = validateBinding(binding, isNamespaced);
      if (!semanticallyEqual(binding.roleRef, old.roleRef)) {
        const { apiGroup, kind: kindName, name: roleName } = binding.roleRef;
        const [group, kind, name] = [apiGroup, kindName, roleName].map((one) => JSON.stringify(one));
        const shown = goValue(`rbac.RoleRef{APIGroup:${group}, Kind:${kind}, Name:${name}}`);
        errors.push(invalidValue("roleRef", shown, "cannot change roleRef"));
      }
      return errors;
    },
  };
}

function subjectsOf({ subjects }: RoleBinding, kind: string): string {
  return (subjects ?? [])
    .filter((one) => one.kind === kind)
    .map(({ name, namespace = "" }) => (kind === "ServiceAccount" ? `${namespace}/${name}` : name))
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
    cells(binding: RoleBinding, nowMs: number): unknown[] {
      const { roleRef } = binding;
      return [
        nameOf(binding),
        `${roleRef.kind}/${roleRef.name}`,
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
  cells: (role: Role): unknown[] => [nameOf(role), role.metadata.creationTimestamp ?? null],
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
