import { type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";
import { reflect } from "../../../staging/client-go/cache/reflect.js";
import { Disposables } from "../../../util/async/disposables.js";
import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import type { Random } from "../../../util/random.js";
import { type Reads, touches } from "../checks/reads.js";
import type { LabEnvironment } from "../environment/environment.js";
import { partsOf } from "../format/object-path.js";
import type { LabRuns } from "./actions.js";

/** How sure it is that something changed that a check reads: `maybe` can be an effect of the check itself. */
export type Change = "sure" | "maybe";

export interface ChangeDeps {
  readonly environment: LabEnvironment;
  readonly runs: LabRuns;
  readonly random: Random;
}

/** Calls `onChange` after each change of what a check reads, until the result is disposed of. Nothing polls. */
export function followReads(deps: ChangeDeps, reads: Reads, onChange: (change: Change) => void): AsyncDisposable {
  const { environment, runs } = deps;
  const open = new Disposables();
  const facts = environment.facts.follow((fact) => {
    const change = touches(fact, reads);
    if (change !== undefined) onChange(change);
  });
  open.defer(async () => facts[Symbol.dispose]());
  const outputs = runs.follow((name) => {
    // A command reads the window that it asks.
    if (reads.outputs.includes(name)) onChange("sure");
    else if (reads.commands.length > 0) onChange("maybe");
  });
  open.defer(async () => outputs[Symbol.dispose]());
  for (const watcher of folderWatchers(environment.folder, reads, () => onChange("sure"))) {
    open.defer(async () => watcher.close());
  }
  // The facts of a cluster elsewhere do not arrive here.
  if (environment.seesWrites) return { [Symbol.asyncDispose]: () => open.close() };
  const stop = new AbortController();
  const following = reads.paths.map((path) => followPath(deps, path, onChange, stop.signal));
  open.defer(async () => {
    stop.abort();
    await Promise.all(following);
  });
  return { [Symbol.asyncDispose]: () => open.close() };
}

/** A command can read any file of the lab's folder, but the lab's own begin with a dot. */
function folderWatchers(folder: string, { files, commands }: Reads, onChange: () => void): readonly FSWatcher[] {
  const places = new Set(files.map((file) => dirname(join(folder, file))));
  if (commands.length > 0) places.add(folder);
  return [...places].flatMap((place) => {
    try {
      const watcher = watch(place, { persistent: false }, (_event, name) => {
        if (name?.startsWith(".") !== true) onChange();
      });
      // The lab's folder is removed with the lab.
      return [watcher.on("error", () => watcher.close())];
    } catch {
      // A folder that does not exist yet, or no more watches: the learner can still check by hand.
      return [];
    }
  });
}

async function followPath(
  { environment, random }: ChangeDeps,
  path: string,
  onChange: (change: Change) => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, facts } = environment;
  const { resource, name } = partsOf(path);
  const collection = name === undefined ? path : path.slice(0, path.lastIndexOf(`/${resource}/`) + resource.length + 1);
  const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`;
  const options = { path: collection, ...defined({ fieldSelector }) };
  try {
    for await (const _ of reflect({ client, clock, random, trace: facts.reads }, options, signal)) onChange("sure");
  } catch (error) {
    // Without the right to watch, the learner checks by hand.
    if (!signal.aborted && !(error instanceof LabError)) throw error;
  }
}
