import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { exitCodeOf, type Self } from "../../process/process.js";
import { complain, fail, parseArgs, print, usage } from "../console.js";
import { startChild } from "../system.js";
import { type Action, type Expression, type FindOptions, parseExpression } from "./find-expression.js";
import { FindProblem, type Found } from "./find-tests.js";

/** What a walk shares: `isOver` after -quit, and the exit code of the whole. */
interface Walk {
  readonly self: Self;
  readonly options: FindOptions;
  readonly expression: Expression;
  readonly groups: Extract<Action, { readonly kind: "exec-all" }>[];
  isOver: boolean;
  code: number;
}

/** `find [-HL] [PATH...] [TEST|ACTION]...`. Mirrors busybox's findutils/find.c. Differs: names come in their order. */
export async function find(self: Self): Promise<number> {
  const words = self.argv.slice(1);
  const first = words.findIndex((word) => !/^-[HL]+$/.test(word));
  const flags = parseArgs(words.slice(0, first < 0 ? undefined : first), "HL").options;
  const rest = first < 0 ? [] : words.slice(first);
  const end = rest.findIndex((word) => /^[-(!]/.test(word) || word === ")");
  const paths = rest.slice(0, end < 0 ? undefined : end);
  const { fs, clock } = self.machine;
  const compile = rest.includes("-regex") ? (await import("re2js")).RE2JS.compile : undefined;
  let parsed: ReturnType<typeof parseExpression>;
  try {
    parsed = parseExpression(end < 0 ? [] : rest.slice(end), { fs, cwd: self.cwd, nowMs: clock.now(), compile });
  } catch (error) {
    if (!(error instanceof FindProblem)) throw error;
    return error.hasUsage ? usage(self, error.message) : fail(self, error.message);
  }
  const { options, expression } = parsed;
  if (flags.has("L")) options.followsLinks = true;
  const walk: Walk = { self, options, expression, groups: [], isOver: false, code: 0 };
  for (const name of paths.length === 0 ? ["."] : paths) await visit(walk, name, 0, flags.has("H"));
  for (const { words: command, names } of walk.groups) {
    const argv = command.flatMap((word) => (word === "{}" ? names : [word]));
    if (names.length > 0 && (await execute(self, argv)) !== 0) walk.code = 1;
  }
  return walk.code;
}

async function visit(walk: Walk, name: string, depth: number, follows: boolean): Promise<void> {
  const { self, options } = walk;
  const { fs } = self.machine;
  const path = resolvePath(self.cwd, name);
  try {
    const follow = (follows || options.followsLinks) && fs.exists(path);
    const found = { name, path, stat: follow ? fs.stat(path) : fs.lstat(path) };
    if (name.endsWith("/") && fs.stat(path).type !== "directory") throw new FsError("ENOTDIR", path);
    await self.turn();
    const isShown = depth >= options.minDepth;
    const isFolder = found.stat.type === "directory";
    let enters = isFolder && depth < options.maxDepth;
    if (isShown && !options.isDepthFirst) enters = !(await evaluate(walk, found)).isPruned && enters;
    // Names are read after the actions, which may have removed some.
    if (enters && !walk.isOver) {
      for (const entry of fs.readdir(path)) {
        if (walk.isOver) return;
        await visit(walk, `${name}${name.endsWith("/") ? "" : "/"}${entry}`, depth + 1, false);
      }
    }
    if (isShown && options.isDepthFirst && !walk.isOver) await evaluate(walk, found);
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    await complain(self, `${name}: ${errorText(error)}`);
    walk.code = 1;
  }
}

async function evaluate(walk: Walk, found: Found): Promise<{ readonly isPruned: boolean }> {
  let isPruned = false;
  const holds = async (expression: Expression): Promise<boolean> => {
    if (walk.isOver) return false;
    switch (expression.kind) {
      case "test":
        return expression.holds(found);
      case "not":
        return !(await holds(expression.of));
      case "and":
        for (const one of expression.all) if (!(await holds(one))) return false;
        return true;
      case "or":
        for (const one of expression.all) if (await holds(one)) return true;
        return false;
      case "prune":
        isPruned = true;
        return true;
      default:
        return act(walk, found, expression);
    }
  };
  await holds(walk.expression);
  return { isPruned };
}

async function act(walk: Walk, { name, path }: Found, action: Action): Promise<boolean> {
  const { self } = walk;
  switch (action.kind) {
    case "print":
      await print(self, `${name}${action.end}`);
      return true;
    case "exec":
      return (
        (await execute(
          self,
          action.words.map((word) => word.replaceAll("{}", name)),
        )) === 0
      );
    case "exec-all":
      if (!walk.groups.includes(action)) walk.groups.push(action);
      action.names.push(name);
      return true;
    case "delete":
      if (name !== ".") self.machine.fs.remove(path);
      return true;
    default:
      walk.isOver = action.kind === "quit";
      return true;
  }
}

async function execute(self: Self, argv: readonly string[]): Promise<number> {
  const child = await startChild(self, argv);
  return typeof child === "number" ? child : exitCodeOf(await child.exited);
}
