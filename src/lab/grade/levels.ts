import { readFile } from "node:fs/promises";
import { parse } from "../../util/yaml.js";
import type { Examine, Level } from "./exam.js";
import { examineNodeLevel } from "./levels/1-node.js";
import { examinePods } from "./levels/2-pods.js";
import { examineRestarts } from "./levels/3-restarts.js";
import { examineJoins } from "./levels/4-joins.js";
import { examineOutages } from "./levels/5-outages.js";
import { examineSpecs } from "./levels/6-specs.js";
import type { LevelPlan } from "./requirement.js";

/** Set by the build, whose files lie one folder below the package's. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

const TASKS = typeof KUBELAB_COMPILED_CONTENT === "boolean" ? "../tasks/" : "../../../tasks/";

const EXAMINERS: readonly Examine[] = [
  ...[examineNodeLevel, examinePods, examineRestarts],
  ...[examineJoins, examineOutages, examineSpecs],
];

/** A level as the content has it: requirements by id, `upstream: FILE FUNCTION`. A test checks the file. */
type Content = Omit<LevelPlan, "requirements"> & {
  readonly requirements: Readonly<
    Record<string, { readonly points: number; readonly title: string; readonly upstream: string }>
  >;
};

/** The levels of `tasks/levels.yaml`, in the order in which an agent's author meets them. */
export async function allLevels(): Promise<readonly Level[]> {
  const text = await readFile(new URL(`${TASKS}levels.yaml`, import.meta.url), "utf8");
  return (parse(text) as readonly Content[]).map(({ requirements, ...plan }, i) => {
    const examine = EXAMINERS[i];
    if (examine === undefined) throw new Error(`level ${plan.number} has no examiner`);
    const all = Object.entries(requirements).map(([id, { points, title, upstream }]) => {
      const [file = "", func = ""] = upstream.split(" ");
      return { id, title, points, upstream: { file, func } };
    });
    return { ...plan, requirements: all, examine };
  });
}
