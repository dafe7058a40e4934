// `npm run bench:startup`: what `kubelab --version` and `--help` cost beside an empty Node, run in turn.
import { measure, median, printTable, spread } from "./measure.js";

const RUNS = 21;
const PLAIN = { KUBELAB_BENCH_PLAIN: "1" };
const commands: readonly (readonly [string, readonly string[]])[] = [
  ["node -e 0", ["-e", "0"]],
  ["kubelab --version", ["dist/cli.js", "--version"]],
  ["kubelab --help", ["dist/cli.js", "--help"]],
  ["kubelab token --help", ["dist/cli.js", "token", "--help"]],
];

const times = new Map<string, number[]>(commands.map(([name]) => [name, []]));
for (let run = -1; run < RUNS; run++) {
  for (const [name, args] of commands) {
    const { wallMs } = await measure(args, PLAIN);
    if (run >= 0) times.get(name)?.push(wallMs);
  }
}
const base = median(times.get("node -e 0") ?? []);
printTable([
  ["command", "median ms", "min-max ms", "x node -e 0"],
  ...[...times].map(([name, values]) => [
    name,
    median(values).toFixed(0),
    spread(values),
    (median(values) / base).toFixed(2),
  ]),
]);
