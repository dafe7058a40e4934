import { pathFrom } from "../../util/os/paths.js";
import { counted } from "../../util/text/counted.js";
import type { CliContext } from "../cli/context.js";
import { formatOf } from "../cli/trace-file.js";
import { loadTraces } from "./load.js";

/** `kubelab trace convert`: several traces become one, in any format. */
export async function runConvert(context: CliContext, paths: readonly string[], output: string): Promise<void> {
  const format = formatOf(output);
  const graph = await loadTraces(context, paths);
  await format.write(pathFrom(context.cwd, output), graph, context.say);
  const facts = graph.events.length;
  context.print({ text: `${output}: ${counted(facts, "fact")}`, json: { file: output, facts }, isProse: true });
}
