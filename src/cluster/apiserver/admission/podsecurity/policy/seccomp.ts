import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { badValues, type CheckedPod, containersOf, counted, plural, quoted, sorted, type Violation } from "./check.js";

const POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod";
const CONTAINER_ANNOTATION = "container.seccomp.security.alpha.kubernetes.io/";

/** The annotations from before v1.19. Mirrors seccompProfileBaseline_1_0. */
export function seccompAnnotations({ annotations, spec }: CheckedPod): Violation | undefined {
  const keys = [POD_ANNOTATION, ...containersOf(spec).map(({ name }) => `${CONTAINER_ANNOTATION}${name}`)];
  const forbidden = sorted(
    keys.flatMap((key) => {
      const value = annotations[key];
      return value === undefined || isAllowedAnnotation(value) ? [] : [`${key}=${goQuote(value)}`];
    }),
  );
  if (forbidden.length === 0) return undefined;
  const detail = `forbidden ${plural("annotation", forbidden.length)} ${forbidden.join(", ")}`;
  return { reason: "seccompProfile", detail };
}

function isAllowedAnnotation(value: string): boolean {
  return value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/");
}

/** Mirrors seccompProfileBaseline_1_19 and seccompProfileRestricted_1_19. */
export function seccompFieldCheck(pod: CheckedPod, { isRequired }: { isRequired: boolean }): Violation | undefined {
  const { setters, values, unset } = badValues(
    pod,
    ({ seccompProfile }) => seccompProfile?.type,
    (type) => type !== "Localhost" && type !== "RuntimeDefault",
  );
  const field = "securityContext.seccompProfile.type";
  if (setters.length > 0) {
    const detail = `${setters.join(" and ")} must not set ${field} to ${quoted(sorted(values))}`;
    return { reason: "seccompProfile", detail };
  }
  if (!isRequired || unset.length === 0) return undefined;
  const detail = `pod or ${counted("container", unset)} must set ${field} to "RuntimeDefault" or "Localhost"`;
  return { reason: "seccompProfile", detail };
}
