import { resolve } from "node:path";

/** The parts of the program that are loaded as a whole, by the files that load them. */
const PARTS = {
  start: ["src/cli.ts", "src/commands/main.ts", "src/trace/redaction/secrets.ts", "src/commands/cli/start-trace.ts"],
  learn: [
    "src/commands/learn/learn.ts",
    "src/commands/learn/menu/menu.ts",
    "src/commands/learn/menu/menu-prompt.ts",
    "src/lab/labs/environment/orphaned-processes.ts",
  ],
  target: ["src/testbed/target/target.ts"],
  // They start the runtime's process before they load a cluster.
  streams: ["src/commands/streams/exec.ts", "src/commands/streams/attach.ts", "src/cluster/runtime/host/host.ts"],
  cluster: ["src/testbed/target/embedded-control-plane.ts", "src/cluster/control-plane/start.ts"],
  join: ["src/commands/bootstrap/bootstrap.ts", "src/commands/lease/lease.ts"],
  pods: ["src/testbed/fixtures/sample-node.ts"],
  node: ["src/testbed/node/node.ts", "src/testbed/node/register.ts"],
};

/**
 * Puts modules that the same parts need into one file, because each file that Node loads costs a start about 0.7 ms.
 * Whatever a module imports is needed by the same parts and perhaps by more, so these files never import one another in a
 * circle.
 * @returns rolldown's function from a module to the name of its file; undefined if no part needs it
 */
export function filesByParts() {
  let modulesOf;
  return (id, context) => {
    // An entry waits for the files that it loads, so it cannot be in one of them.
    if (context.getModuleInfo(id)?.isEntry) return undefined;
    modulesOf ??= Object.entries(PARTS).map(([part, files]) => [part, importedBy(files, context)]);
    const parts = modulesOf.flatMap(([part, modules]) => (modules.has(id) ? [part] : []));
    // Every command starts.
    return parts.includes("start") ? "start" : parts.join("-and-") || undefined;
  };
}

function importedBy(files, context) {
  const modules = new Set();
  const visit = (id) => {
    if (modules.has(id)) return;
    modules.add(id);
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) visit(imported);
  };
  for (const file of files) visit(resolve(file));
  return modules;
}
