import type { Action, Check, LabDefinition } from "./schema.js";

/** Everything that a lab does by itself. */
export function actionsOf(lab: LabDefinition): readonly Action[] {
  return [
    ...lab.setup,
    ...lab.cleanup,
    ...lab.steps.flatMap((step) => ("predict" in step ? step.run : "solve" in step ? step.solve : [])),
  ];
}

/** The names of steps and kept commands whose output, end or exit code something in the lab asks for. */
export function outputsAskedFor(lab: LabDefinition): string[] {
  const ofCheck = (check: Check): string[] => {
    if ("all" in check) return check.all.flatMap(ofCheck);
    if ("any" in check) return check.any.flatMap(ofCheck);
    if ("not" in check) return ofCheck(check.not);
    if ("output" in check) return [check.output];
    return "exit" in check && !("command" in check) ? [check.exit] : [];
  };
  return [
    ...lab.begin.flatMap(ofCheck),
    ...actionsOf(lab).flatMap((one) => ("wait" in one ? ofCheck(one.wait) : "stop" in one ? [one.stop] : [])),
    ...lab.steps.flatMap((step) => {
      if ("predict" in step) return Object.values(step.outcomes).flatMap(ofCheck);
      if ("observe" in step) return [step.observe];
      if ("check" in step) return ofCheck(step.check);
      return "do" in step && step.expect !== undefined ? ofCheck(step.expect) : [];
    }),
  ];
}
